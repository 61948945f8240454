// Everything works without this: it remembers the name, and shows new messages as they come.
"use strict";

const main = document.querySelector("main");

const author = document.querySelector("[data-author]");
if (author) {
  try {
    author.value ||= localStorage.getItem("author") ?? "";
    author.addEventListener("change", () => localStorage.setItem("author", author.value));
  } catch {
    // A browser may be told to remember nothing: the name is asked for each time then.
  }
}

for (const text of document.querySelectorAll("textarea")) {
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) text.form.requestSubmit();
  });
}

// The messages as the server has written them, by their ids, before their times are told as here.
const written = new Map();
for (const message of document.querySelectorAll("#messages .message")) {
  written.set(message.id, message.outerHTML);
}

function localTimes() {
  for (const time of document.querySelectorAll("time")) {
    const date = new Date(time.dateTime);
    const style = { dateStyle: "medium", timeStyle: "short" };
    time.textContent = date.toLocaleString(undefined, style);
  }
}
localTimes();

// The messages of the page as it is now take the place of those that are others: what a message
// looks like is the server's business alone. What is the same stays, and with it where one is.
async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of ["#messages > .quiet", "#messages > nav"]) {
    const [before, now] = [document.querySelector(part), page.querySelector(part)];
    if (before.outerHTML !== now.outerHTML) before.replaceWith(now);
  }
  tell(renew(document.querySelector("#messages ol"), page.querySelectorAll("#messages .message")));
  main.dataset.watch = page.querySelector("main").dataset.watch;
  localTimes();
}

// Makes a list have these messages, in this order; how many of them were not there.
function renew(list, messages) {
  const before = new Map(written);
  written.clear();
  let place = list.firstElementChild;
  let added = 0;
  for (const message of messages) {
    const old = document.getElementById(message.id);
    const isSame = old && before.get(message.id) === message.outerHTML;
    written.set(message.id, message.outerHTML);
    if (!isSame) message.classList.add("new");
    if (!old) added += 1;
    if (old && !isSame) {
      const hadFocus = old.contains(document.activeElement);
      if (place === old) place = message;
      old.replaceWith(message);
      if (hadFocus) message.querySelector("a").focus();
    }
    const shown = isSame ? old : message;
    if (place === shown) place = place.nextElementSibling;
    else list.insertBefore(shown, place);
  }
  while (place) {
    const next = place.nextElementSibling;
    place.remove();
    place = next;
  }
  return added;
}

// Says it to those who do not see it: a line that stays, as only what changes in one is read out.
function tell(added) {
  if (added === 0) return;
  const said = added === 1 ? "1 new message" : `${added} new messages`;
  document.getElementById("news").replaceChildren(said);
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
      if (target !== source) return;
      if (main.dataset.watch !== address) return listen();
      // It is the same one: there was no place for the stream, say, or something between was away.
      setTimeout(() => {
        if (target === source) listen();
      }, 5000);
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
