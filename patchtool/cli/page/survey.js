"use strict";
/* The heat map: keyboard, filter, links and the panel. Text of upstream goes through textContent only. */
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("survey-data").textContent);
  const grid = $("grid");
  const panel = $("details");
  const rows = [...grid.tBodies[0].rows];
  const cells = rows.map((row) => [...row.cells].slice(1));
  const heads = [...grid.tHead.rows[0].cells].slice(1);
  if (!cells.length || !heads.length) return;

  const chosen = new Set();
  let at = { row: 0, column: heads.length - 1 };
  let open = null;

  /* ---- small helpers ---- */

  const UNSHOWN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  const visible = (text) =>
    String(text).replace(UNSHOWN, (c) => `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
  const make = (tag, kind, ...inner) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    made.append(...inner.map((each) => (each instanceof Node ? each : visible(each))));
    return made;
  };
  const link = (url) => {
    if (!/^https?:\/\//i.test(url)) return make("span", "", url);
    const made = make("a", "", url);
    made.href = url;
    made.rel = "noopener noreferrer";
    return made;
  };
  const finding = ({ row, column }) => data.findings[data.grid[column][row]];
  const cell = ({ row, column }) => cells[row][column];
  const shown = (place) => !cell(place).classList.contains("off");
  const inside = ({ row, column }) => row >= 0 && row < cells.length && column >= 0 && column < heads.length;
  const hash = ({ row, column }) => `#${data.releases[column]}/${data.patches[row].name}`;
  const swatch = (state) => make("span", `swatch s-${state}`, data.glyphs[state]);

  /* ---- the grid: one tab stop, arrows walk ---- */

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
  /* Into view beside the sticky heads and above the panel, which scrollIntoView knows nothing of. */
  const reveal = (target) => {
    const map = $("map");
    const box = target.getBoundingClientRect();
    const frame = map.getBoundingClientRect();
    const left = frame.left + rows[0].cells[0].offsetWidth;
    const top = frame.top + heads[0].offsetHeight;
    if (box.left < left) map.scrollLeft -= left - box.left + 4;
    else if (box.right > frame.right) map.scrollLeft += box.right - frame.right + 4;
    if (box.top < top) map.scrollTop -= top - box.top;
    else if (box.bottom > frame.bottom) map.scrollTop += box.bottom - frame.bottom;
    const now = target.getBoundingClientRect();
    const floor = panel.hidden ? innerHeight : Math.min(innerHeight, panel.getBoundingClientRect().top);
    if (now.bottom > floor) scrollBy(0, now.bottom - floor + 8);
    else if (now.top < heads[0].offsetHeight) scrollBy(0, now.top - heads[0].offsetHeight - 8);
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

  grid.setAttribute("role", "grid");
  for (const each of cells.flat()) {
    each.tabIndex = -1;
    each.dataset.at = each.id;
    each.removeAttribute("id"); /* links open the panel from here on; the browser need not jump as well */
  }
  aim(at, false);
  grid.addEventListener("click", (event) => {
    const place = placeOf(event.target);
    if (!place || !shown(place)) return;
    aim(place);
    show(place);
  });
  grid.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
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

  /* ---- the filter ---- */

  const chips = [...document.querySelectorAll("#survey .chip")];
  const filter = () => {
    let count = 0;
    rows.forEach((row, index) => {
      let any = false;
      for (const each of cells[index]) {
        const off = chosen.size > 0 && !chosen.has(each.dataset.state);
        each.classList.toggle("off", off);
        if (off) each.setAttribute("aria-hidden", "true");
        else { each.removeAttribute("aria-hidden"); any = true; count += 1; }
      }
      row.hidden = !any;
    });
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chosen.has(chip.dataset.state)));
    grid.classList.toggle("filtering", chosen.size > 0);
    $("unfilter").hidden = chosen.size === 0;
    $("filtered").textContent = chosen.size ? `${count} of ${cells.length * heads.length} cells shown` : "";
    if (!shown(at)) {
      /* The one tab stop must be a cell that is there: the newest one that is left. */
      for (let column = heads.length - 1; column >= 0; column -= 1) {
        const row = cells.findIndex((_, index) => shown({ row: index, column }));
        if (row >= 0) { aim({ row, column }, false); break; }
      }
    }
    if (open && !shown(open)) close(false);
  };
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      if (!chosen.delete(chip.dataset.state)) chosen.add(chip.dataset.state);
      filter();
    });
  }
  const unfilter = () => { chosen.clear(); filter(); };
  $("unfilter").addEventListener("click", () => { unfilter(); chips[0].focus(); });

  /* ---- the panel ---- */

  const show = (place) => {
    const opening = !open;
    if (open) cell(open).removeAttribute("aria-selected");
    open = place;
    cell(place).setAttribute("aria-selected", "true");
    panel.hidden = false;
    document.documentElement.classList.add("open");
    history.replaceState(null, "", hash(place));
    fill(place);
    if (opening) makeRoom();
    reveal(cell(place));
  };
  /* The whole map above the panel, as far as it fits. */
  const makeRoom = () => {
    const map = $("map").getBoundingClientRect();
    const covered = map.bottom - panel.getBoundingClientRect().top + 10;
    if (covered > 0) scrollBy(0, Math.min(covered, map.top - 10));
  };
  const close = (focus = true) => {
    if (!open) return;
    cell(open).removeAttribute("aria-selected");
    open = null;
    panel.hidden = true;
    document.documentElement.classList.remove("open");
    history.replaceState(null, "", location.pathname + location.search);
    if (focus) aim(at);
  };
  const step = (right) => {
    const next = walk(0, right);
    aim(next, false);
    show(next);
  };
  $("close").addEventListener("click", () => close());
  $("earlier").addEventListener("click", () => step(-1));
  $("later").addEventListener("click", () => step(1));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && open) { event.preventDefault(); close(); }
  });

  const fill = (place) => {
    const found = finding(place);
    const patch = data.patches[place.row];
    const release = data.releases[place.column];
    $("details-title").replaceChildren(make("code", "", patch.name), " on ", make("code", "", release));
    $("earlier").disabled = walk(0, -1) === at;
    $("later").disabled = walk(0, 1) === at;
    $("said").textContent = `${patch.name} on ${release}: ${found.state}`;
    const body = $("details-body");
    body.replaceChildren(facts(place, found, patch, release), change(found));
    body.scrollTop = 0;
    panel.scrollTop = 0;
  };

  const facts = (place, found, patch, release) => {
    const made = make("div", "facts");
    const verdict = make("p", "verdict", swatch(found.state), make("b", "", found.state));
    if (found.reason) verdict.append(make("code", "reason", found.reason));
    if (found.proof !== "none") verdict.append(make("span", `proof p-${found.proof}`, `tests ${found.proof === "agrees" ? "agree" : "dispute it"}`));
    made.append(verdict, make("p", "patch-title", patch.title));
    if (found.detail) made.append(make("p", "detail", found.detail));
    made.append(make("p", "run", run(place)));
    list(made, "Goals", found.goals.map(goal));
    list(made, "Sites", found.sites.map(([path, line, symbol, rule]) => {
      const item = make("li", "", where(`${path}:${line}`), make("span", "sub", `in ${symbol}${rule ? `, rule ${rule}` : ""}`));
      return item;
    }));
    list(made, "Files", found.files.map((file) => make("li", "", where(file.path), make("span", "sub",
      make("b", "plus", `+${file.added}`), " ", make("b", "minus", `\u2212${file.removed}`),
      ` blob ${file.before.slice(0, 10)} \u2192 ${file.after.slice(0, 10)}`))));
    list(made, "Notes", found.notes.map((note) => make("li", "", note)));
    list(made, "The patch", about(found, patch, release));
    return made;
  };
  const about = (found, patch, release) => {
    const items = [];
    const add = (name, ...value) => items.push(make("li", "pair", make("span", "sub", name), make("span", "", ...value)));
    if (patch.reason) add("why", patch.reason);
    if (patch.requires.length) add("requires", patch.requires.join(", "));
    if (patch.origin) add("origin", link(patch.origin));
    if (patch.upstream) add("upstream", link(patch.upstream));
    if (found.since) add("since", found.since);
    add("ask", make("code", "", `patchtool explain ${patch.name} --on ${release}`));
    return items;
  };
  const run = ({ row, column }) => {
    const state = finding({ row, column }).state;
    let first = column;
    let last = column;
    while (first > 0 && finding({ row, column: first - 1 }).state === state) first -= 1;
    while (last + 1 < heads.length && finding({ row, column: last + 1 }).state === state) last += 1;
    const before = first > 0 ? `, ${finding({ row, column: first - 1 }).state} before` : "";
    const after = last + 1 < heads.length ? `, ${finding({ row, column: last + 1 }).state} from ${data.releases[last + 1]} on` : "";
    if (first === last) return `${state} on this release only${before}${after}`;
    return `${state} from ${data.releases[first]} to ${data.releases[last]}${before}${after}`;
  };
  const list = (into, title, items) => {
    if (items.length) into.append(make("h3", "", title), make("ul", "", ...items));
  };
  const where = (text) => {
    /* The file's name matters most, and a path may break anywhere before it. */
    const cut = text.lastIndexOf("/") + 1;
    const made = make("code", "where", make("span", "folder", text.slice(0, cut)), text.slice(cut));
    made.title = visible(text);
    return made;
  };
  const goal = (each) => {
    const [kind, mark, words] = each.held_before ? ["held", "\u2713", "was there"]
      : each.held_after ? ["made", "+", "made by the patch"] : ["missing", "\u2717", "missing"];
    const item = make("li", `goal ${kind}`, make("span", "mark", mark), make("span", "", each.name));
    item.firstChild.setAttribute("aria-hidden", "true");
    const why = each.evidence && kind === "missing" ? `: ${each.evidence}` : "";
    item.append(make("span", "sub", words + why));
    if (each.evidence && kind === "held") item.append(where(each.evidence));
    return item;
  };
  const candidate = (each) => {
    const item = make("li", "candidate", where(`${each.path}:${each.line}`),
      make("span", "sub", `in ${each.symbol}${each.rule ? `, rule ${each.rule}` : ""}`));
    const likeness = make("meter", "");
    likeness.min = 0;
    likeness.max = 1;
    likeness.value = each.similarity;
    const percent = `${Math.round(100 * each.similarity)}% alike`;
    likeness.title = percent;
    item.append(make("span", "alike", likeness, percent), make("pre", "", each.code));
    return item;
  };

  /* ---- the diff ---- */

  const MANY = 3000;
  const change = (found) => {
    const made = make("div", "change");
    if (found.diff === null) made.append(make("p", "nothing", NOTHING[found.state] || "Nothing is rendered for this release."));
    else made.append(...rendered(found));
    const more = make("div", "more");
    list(more, "Nearest candidates", found.candidates.map(candidate));
    if (found.trace) more.append(make("h3", "", "Traceback of the codemod"), make("pre", "", found.trace));
    if (more.childNodes.length) made.append(more);
    return made;
  };
  const rendered = (found) => {
    const lines = data.diffs[found.diff].replace(/\n$/, "").split("\n");
    const view = make("div", "diff");
    view.tabIndex = 0;
    view.setAttribute("role", "region");
    view.setAttribute("aria-label", "Rendered diff");
    const reader = diffReader();
    view.append(...lines.slice(0, MANY).map(reader));
    if (lines.length <= MANY) return [view];
    const rest = make("button", "quiet", `Show ${lines.length - MANY} more lines`);
    rest.type = "button";
    rest.addEventListener("click", () => { view.append(...lines.slice(MANY).map(reader)); rest.remove(); });
    return [view, rest];
  };
  const NOTHING = {
    landed: "Nothing to apply: upstream has it.",
    absent: "Nothing to apply: the code it changes is not there yet.",
    conflict: "Nothing was rendered: a wrong edit is worse than none.",
    ambiguous: "Nothing was rendered: more places fit than expected.",
    blocked: "Nothing was rendered: a patch it requires failed.",
    crashed: "Nothing was rendered: the codemod raised.",
  };
  const diffReader = () => {
    /* A line that starts with --- or +++ is a header only outside a hunk, so hunks are counted out. */
    let before = 0;
    let after = 0;
    let left = [0, 0];
    return (text) => {
      const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
      if (left[0] <= 0 && left[1] <= 0 && hunk) {
        before = Number(hunk[1]);
        after = Number(hunk[3]);
        left = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
        return line("hunk", text);
      }
      if (left[0] <= 0 && left[1] <= 0) return line(text.startsWith("diff ") ? "file" : "meta", text);
      if (text.startsWith("+")) { left[1] -= 1; return line("add", text, "", after++); }
      if (text.startsWith("-")) { left[0] -= 1; return line("del", text, before++, ""); }
      if (text.startsWith("\\")) return line("meta", text);
      left[0] -= 1;
      left[1] -= 1;
      return line("same", text, before++, after++);
    };
  };
  const line = (kind, text, before = "", after = "") => {
    const made = make("span", `l ${kind}`, text === "" ? " " : text, "\n");
    made.dataset.gutter = `${String(before).padStart(5)} ${String(after).padStart(5)} `;
    return made;
  };

  /* ---- links ---- */

  const follow = () => {
    let words;
    try { words = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const cut = words.indexOf("/");
    const column = data.releases.indexOf(words.slice(0, cut));
    const row = data.patches.findIndex((patch) => patch.name === words.slice(cut + 1));
    if (cut < 0 || row < 0 || column < 0) return;
    if (!shown({ row, column })) unfilter();
    aim({ row, column });
    show(at);
  };
  addEventListener("hashchange", follow);
  $("map").scrollLeft = $("map").scrollWidth; /* the newest releases are what one came for */
  follow();
})();
