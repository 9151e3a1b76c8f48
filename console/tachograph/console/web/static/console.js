/* Live lists: asks for the page again and puts the new list in place of the old one. Beside that, two keys. */
"use strict";

(() => {
  const toggle = document.querySelector("[data-live-toggle]");
  const list = document.querySelector("[data-live]");

  const busy = () => {
    const selection = document.getSelection();
    return document.hidden || list.contains(document.activeElement) || (selection && !selection.isCollapsed);
  };

  const stop = (words) => {
    toggle.setAttribute("aria-pressed", "false");
    toggle.textContent = words;
  };

  const refresh = async () => {
    const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    if (answer.status === 401) {
      stop("Signed out");
      toggle.disabled = true;
      return;
    }
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(list.id);
    if (fresh && fresh.innerHTML !== list.innerHTML && !busy()) {
      const across = Array.from(list.querySelectorAll(".scroll"), (each) => each.scrollLeft);
      const opened = Array.from(list.querySelectorAll("details"), (each) => each.open);
      list.replaceChildren(...fresh.childNodes);
      list.querySelectorAll("details").forEach((each, place) => { each.open = opened[place] ?? each.open; });
      list.querySelectorAll(".scroll").forEach((each, place) => { each.scrollLeft = across[place] || 0; });
    }
  };

  if (toggle && list) {
    toggle.disabled = false;
    toggle.addEventListener("click", () => {
      const on = toggle.getAttribute("aria-pressed") !== "true";
      toggle.setAttribute("aria-pressed", String(on));
      toggle.textContent = on ? "Live" : "Paused";
    });
    setInterval(() => {
      if (toggle.getAttribute("aria-pressed") === "true" && !busy()) refresh().catch(() => {});
    }, Number(toggle.dataset.every));
  }

  document.addEventListener("keydown", (event) => {
    const search = document.querySelector("[data-search]");
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "/" && search && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea[data-submit]")) {
      event.preventDefault();
      event.target.form.requestSubmit();
    }
  });
})();
