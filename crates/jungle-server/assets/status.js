// Everything works without this: the page is looked at again by itself.
"use strict";

const EVERY = 2000;

async function look() {
  if (!document.hidden) {
    const answer = await fetch("/status", { headers: { accept: "text/html" } });
    if (!answer.ok) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = page.getElementById("status");
    if (now) document.getElementById("status").replaceWith(now);
  }
  setTimeout(again, EVERY);
}

// A server that is away for a moment is no reason to stop.
function again() {
  look().catch(() => setTimeout(again, EVERY));
}
setTimeout(again, EVERY);
