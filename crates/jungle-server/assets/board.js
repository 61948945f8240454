// Everything works without this: it remembers the name, and shows new messages as they come.
"use strict";

const author = document.querySelector("[data-author]");
if (author) {
  author.value ||= localStorage.getItem("author") ?? "";
  author.addEventListener("change", () => localStorage.setItem("author", author.value));
}

for (const text of document.querySelectorAll("textarea")) {
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) text.form.requestSubmit();
  });
}

function localTimes() {
  for (const time of document.querySelectorAll("time")) {
    const date = new Date(time.dateTime);
    const style = { dateStyle: "medium", timeStyle: "short" };
    time.textContent = date.toLocaleString(undefined, style);
  }
}
localTimes();

// The page as it is now takes the place of the messages: what a message looks like is the server's
// business alone.
async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const now = page.getElementById("messages");
  const before = document.getElementById("messages");
  for (const message of now.querySelectorAll(".message")) {
    const old = document.getElementById(message.id);
    const isSame = old?.querySelector(".text").textContent ===
      message.querySelector(".text").textContent;
    if (!isSame) message.classList.add("new");
  }
  before.replaceWith(now);
  localTimes();
}

const watch = document.querySelector("main").dataset.watch;
if (watch) {
  let isBusy = false;
  let isStale = false;
  new EventSource(watch).addEventListener("change", async () => {
    isStale = true;
    if (isBusy) return;
    isBusy = true;
    while (isStale) {
      isStale = false;
      await refresh();
    }
    isBusy = false;
  });
}
