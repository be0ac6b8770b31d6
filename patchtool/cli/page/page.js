"use strict";
/* The theme: the system's, until the user chooses one. Runs before the first paint. */
(() => {
  const KEY = "patchtool-theme";
  const NAMES = ["auto", "light", "dark"];
  const root = document.documentElement;
  root.classList.add("js");

  const stored = () => {
    try { return localStorage.getItem(KEY); } catch { return null; } /* storage may be forbidden */
  };
  const keep = (name) => {
    try { localStorage.setItem(KEY, name); } catch { /* then the choice lasts until the page is closed */ }
  };
  const set = (name) => { root.dataset.theme = name; };

  set(NAMES.includes(stored()) ? stored() : "auto");
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = `Theme: ${root.dataset.theme}`; };
    button.hidden = false;
    label();
    button.addEventListener("click", () => {
      set(NAMES[(NAMES.indexOf(root.dataset.theme) + 1) % NAMES.length]);
      keep(root.dataset.theme);
      label();
    });
  });
})();
