// Everything works without this: it remembers the name, and shows new messages as they come.
"use strict";

const main = document.querySelector("main");

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
  main.dataset.watch = page.querySelector("main").dataset.watch;
  localTimes();
}

if (main.dataset.watch) {
  let isBusy = false;
  let isStale = false;

  async function changed() {
    isStale = true;
    if (isBusy) return;
    isBusy = true;
    try {
      while (isStale) {
        isStale = false;
        await refresh();
      }
    } catch {
      // The server is away. Once it is there again, the page is looked at anew.
    } finally {
      isBusy = false;
    }
  }

  // A browser opens six connections to a server at most, for all its tabs: those that nobody sees
  // give theirs back.
  let source;
  let wasAway = false;
  function listen() {
    const address = main.dataset.watch;
    source = new EventSource(address);
    source.addEventListener("change", changed);
    source.addEventListener("open", () => {
      if (wasAway) changed();
      wasAway = false;
    });
    source.addEventListener("error", async ({ target }) => {
      wasAway = true;
      if (target.readyState !== EventSource.CLOSED || target !== source) return;
      // The history is another one, as after a backup was put back: the page says where it begins.
      await changed();
      if (target === source && main.dataset.watch !== address) listen();
    });
  }
  document.addEventListener("visibilitychange", () => {
    source?.close();
    source = undefined;
    wasAway = true;
    if (!document.hidden) listen();
  });
  if (!document.hidden) listen();
}
