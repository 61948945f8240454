// Everything works without this: the page is looked at again by itself, until that is stopped.
"use strict";

const EVERY = 2000;
const told = document.getElementById("told");
const pause = document.getElementById("pause");
let newest = new Date();

async function look() {
  const answer = await fetch("/status", { headers: { accept: "text/html" }, redirect: "manual" });
  // Whoever has to log in, or may not see it any more, is told so by the page itself.
  const isRefused = answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403;
  if (isRefused) return location.reload();
  if (!answer.ok) throw new Error(`it is answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.getElementById("status").replaceWith(page.getElementById("status"));
  newest = new Date();
  if (told.textContent) told.textContent = "";
}

// A server that is away for a moment is no reason to stop.
async function again() {
  const isRead = !getSelection().isCollapsed;
  if (!document.hidden && !isRead && pause.getAttribute("aria-pressed") !== "true") {
    await look().catch((error) => {
      const since = `No answer since ${newest.toLocaleTimeString()}: all figures are of then`;
      const says = error instanceof TypeError ? since : `${since} (${error.message})`;
      if (told.textContent !== says) told.textContent = says;
    });
  }
  setTimeout(again, EVERY);
}

pause.hidden = false;
pause.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true"));
});
setTimeout(again, EVERY);
