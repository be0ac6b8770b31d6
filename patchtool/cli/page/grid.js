"use strict";
/* Keyboard, filter, links and panel of a section's grid. Upstream's text is only ever set as text, never as markup. */
const patchtool = (() => {
  const UNSHOWN = /(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/gu;
  const visible = (text) =>
    String(text).replace(UNSHOWN, (c) => `\u27e8U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
  const make = (tag, kind, ...inner) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    made.append(...inner.map((each) => (each instanceof Node ? each : visible(each))));
    return made;
  };
  const list = (into, title, items) => {
    if (items.length) into.append(make("h3", "", title), make("ul", "", ...items));
  };
  const pair = (name, ...value) => make("li", "pair", make("span", "sub", name), make("span", "", ...value));

  /* Set up a section's grid. `content` describes its cells: hash(place) is a cell's link, find(hash) its place, and
     fill(place) the panel's title, announcement for screen readers, and parts. */
  const grid = (section, content) => {
    const part = (name) => section.querySelector(`[data-part="${name}"]`);
    const table = part("grid");
    const panel = part("panel");
    const rows = [...table.querySelectorAll("tbody tr")].filter((row) => row.querySelector("td[data-state]"));
    const cells = rows.map((row) => [...row.cells].slice(1));
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells].slice(1);
    if (!cells.length || !heads.length) return;
    const every = cells.flat().filter((each) => each.dataset.state);

    /* The panel is a row of its own below the row of its cell. */
    const holder = table.insertRow();
    holder.className = "panel-row";
    holder.hidden = true;
    holder.insertCell().colSpan = heads.length + 1;
    holder.cells[0].append(panel);

    const chosen = new Set();
    let open = null;
    const cell = ({ row, column }) => cells[row][column];
    const shown = (place) => Boolean(cell(place).dataset.state) && !cell(place).classList.contains("off");
    const inside = ({ row, column }) => row >= 0 && row < cells.length && column >= 0 && column < heads.length;
    /* The first cell that the filter shows, column by column from the newest or the oldest. */
    const outermost = () => {
      const columns = [...heads.keys()];
      for (const column of content.newest ? columns.reverse() : columns) {
        const row = cells.findIndex((_, index) => shown({ row: index, column }));
        if (row >= 0) return { row, column };
      }
      return at;
    };
    let at = { row: 0, column: 0 };

    /* ---- keyboard: one tab stop, arrow keys move ---- */

    const aim = (place, focus = true) => {
      cell(at).tabIndex = -1;
      rows[at.row].cells[0].classList.remove("here");
      heads[at.column].classList.remove("here");
      at = place;
      cell(at).tabIndex = 0;
      rows[at.row].cells[0].classList.add("here");
      heads[at.column].classList.add("here");
      if (focus) {
        cell(at).focus({ preventScroll: true });
        reveal(cell(at));
      }
    };
    /* Scroll the page so that a cell is below the heads, and as much as possible of the open panel is below the cell. */
    const reveal = (target) => {
      const heads = table.tHead.offsetHeight; /* 0 where cells have labels instead */
      const box = target.getBoundingClientRect();
      const low = panel.hidden ? box.bottom : panel.getBoundingClientRect().bottom;
      const by = Math.min(Math.max(0, low - innerHeight + 8), box.top - heads - 20);
      if (by) scrollBy(0, by);
    };
    const walk = (down, right) => {
      let next = { row: at.row + down, column: at.column + right };
      while (inside(next) && !shown(next)) next = { row: next.row + down, column: next.column + right };
      return inside(next) ? next : at;
    };
    const furthest = (down, right) => {
      let best = at;
      for (let p = at; inside(p); p = { row: p.row + down, column: p.column + right }) if (shown(p)) best = p;
      return best;
    };
    const KEYS = {
      ArrowUp: () => walk(-1, 0),
      ArrowDown: () => walk(1, 0),
      ArrowLeft: () => walk(0, -1),
      ArrowRight: () => walk(0, 1),
      Home: () => furthest(0, -1),
      End: () => furthest(0, 1),
      PageUp: () => furthest(-1, 0),
      PageDown: () => furthest(1, 0),
    };
    const placeOf = (target) => {
      const found = target.closest("td[data-state]");
      if (!found) return null;
      const row = rows.indexOf(found.parentElement);
      return { row, column: cells[row].indexOf(found) };
    };

    table.setAttribute("role", "grid");
    for (const each of every) {
      each.tabIndex = -1;
      each.dataset.at = each.id;
      each.removeAttribute("id"); /* links open the panel, so the browser must not jump too */
    }
    aim(outermost(), false);
    table.addEventListener("click", (event) => {
      const place = placeOf(event.target);
      if (!place || !shown(place)) return;
      aim(place);
      show(place);
    });
    table.addEventListener("keydown", (event) => {
      if (panel.contains(event.target) || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        if (!shown(at)) return;
        show(at);
        panel.focus({ preventScroll: true });
      } else if (KEYS[event.key]) {
        event.preventDefault();
        aim(KEYS[event.key]());
        if (open) show(at);
      }
    });

    /* ---- filter ---- */

    const chips = [...section.querySelectorAll(".chip")];
    const filter = () => {
      for (const each of every) {
        const off = chosen.size > 0 && !chosen.has(each.dataset.state);
        each.classList.toggle("off", off);
        if (off) each.setAttribute("aria-hidden", "true");
        else each.removeAttribute("aria-hidden");
      }
      rows.forEach((row, index) => { row.hidden = !cells[index].some((_, column) => shown({ row: index, column })); });
      for (const body of table.tBodies) body.hidden = rows.every((row) => row.hidden || row.parentElement !== body);
      for (const chip of chips) chip.setAttribute("aria-pressed", String(chosen.has(chip.dataset.state)));
      const count = every.filter((each) => !each.classList.contains("off")).length;
      part("unfilter").hidden = chosen.size === 0;
      part("filtered").textContent = chosen.size ? `${count} of ${every.length} cells shown` : "";
      if (!shown(at)) aim(outermost(), false); /* the tab stop must be a visible cell */
      if (open && !shown(open)) close(false);
    };
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        if (!chosen.delete(chip.dataset.state)) chosen.add(chip.dataset.state);
        filter();
      });
    }
    const unfilter = () => { chosen.clear(); filter(); };
    part("unfilter").addEventListener("click", () => { unfilter(); chips[0].focus(); });

    /* ---- panel ---- */

    const show = (place) => {
      if (open) cell(open).removeAttribute("aria-selected");
      open = place;
      cell(place).setAttribute("aria-selected", "true");
      rows[place.row].after(holder);
      holder.hidden = panel.hidden = false;
      section.classList.add("open");
      history.replaceState(null, "", `#${content.hash(place)}`);
      const filled = content.fill(place);
      part("title").replaceChildren(make("span", "", ...filled.title));
      part("earlier").disabled = walk(0, -1) === at;
      part("later").disabled = walk(0, 1) === at;
      part("said").textContent = visible(filled.said);
      const body = part("body");
      body.replaceChildren(...filled.body);
      reveal(cell(place));
    };
    const close = (focus = true) => {
      if (!open) return;
      cell(open).removeAttribute("aria-selected");
      open = null;
      holder.hidden = panel.hidden = true;
      section.classList.remove("open");
      history.replaceState(null, "", location.pathname + location.search);
      if (focus) aim(at);
    };
    const step = (right) => {
      const next = walk(0, right);
      aim(next, false);
      show(next);
    };
    part("close").addEventListener("click", () => close());
    part("earlier").addEventListener("click", () => step(-1));
    part("later").addEventListener("click", () => step(1));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && open) { event.preventDefault(); close(); }
    });

    /* ---- links ---- */

    const follow = () => {
      let hash;
      try { hash = decodeURIComponent(location.hash.slice(1)); } catch { return; }
      const place = content.find(hash);
      if (!place) return;
      if (!shown(place)) unfilter();
      aim(place);
      show(at);
    };
    addEventListener("hashchange", follow);
    follow();
  };
  return { make, list, pair, visible, grid };
})();
