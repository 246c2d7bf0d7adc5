"use strict";
// The page asks for itself each second, while somebody looks at it, and only
// takes over what has changed: it does not flicker, and stays where it is.
const every = 1000;
const place = (id, from = document) => from.getElementById(id);
const look = async () => {
  const pulse = place("pulse");
  try {
    if (!document.hidden) {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const [old, now] = [place("state"), place("state", next)];
      if (old.innerHTML !== now.innerHTML) old.replaceWith(document.adoptNode(now));
      pulse.textContent = place("pulse", next).textContent;
      pulse.classList.remove("odd");
    }
  } catch {
    pulse.classList.add("odd");
    pulse.textContent = "no answer since " + pulse.textContent.replace("no answer since ", "");
  }
  setTimeout(look, every);
};
setTimeout(look, every);
