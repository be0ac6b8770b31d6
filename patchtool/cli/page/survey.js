"use strict";
/* The panel of the survey: a patch on a release. */
(() => {
  const { make, list, pair, visible, grid } = patchtool;
  const section = document.getElementById("survey");
  const data = JSON.parse(document.getElementById("survey-data").textContent);

  const link = (url) => {
    if (!/^https?:\/\//i.test(url)) return make("span", "", url);
    const made = make("a", "", url);
    made.href = url;
    made.rel = "noopener noreferrer";
    return made;
  };
  const finding = ({ row, column }) => data.findings[data.grid[column][row]];
  const swatch = (state) => make("span", `swatch s-${state}`, data.glyphs[state]);

  const hash = ({ row, column }) => `${data.releases[column]}/${data.patches[row].name}`;
  const find = (words) => {
    const cut = words.indexOf("/");
    const column = data.releases.indexOf(words.slice(0, cut));
    const row = data.patches.findIndex((patch) => patch.name === words.slice(cut + 1));
    return cut < 0 || row < 0 || column < 0 ? null : { row, column };
  };
  const fill = (place) => {
    const found = finding(place);
    const patch = data.patches[place.row];
    const release = data.releases[place.column];
    return {
      title: [make("code", "", patch.name), " on ", make("code", "", release)],
      said: `${patch.name} on ${release}: ${found.state}`,
      body: [verdict(found), change(found), facts(place, found, patch, release)],
    };
  };

  const verdict = (found) => {
    const made = make("p", "verdict", swatch(found.state), make("b", "", found.state));
    if (found.reason) made.append(make("code", "reason", found.reason));
    if (found.proof !== "none") made.append(make("span", `proof p-${found.proof}`, `tests ${found.proof === "agrees" ? "agree" : "dispute it"}`));
    else if (found.state === "landed") made.append(make("span", "proof p-none", "unproven"));
    return made;
  };
  const facts = (place, found, patch, release) => {
    const made = make("div", "facts", make("p", "patch-title", patch.title));
    if (found.proven_on) made.append(make("p", "detail", `its tests ran on ${found.proven_on}`));
    if (found.proof_detail) made.append(make("p", "detail", `no proof: ${found.proof_detail}`));
    if (found.detail) made.append(make("p", "detail", found.detail));
    made.append(make("p", "run", run(place)));
    list(made, "Goals", found.goals.map(goal));
    list(made, "Sites", found.locations.map(({ path, line, symbol, rule }) =>
      make("li", "", where(`${path}:${line}`), make("span", "sub", `in ${symbol}${rule ? `, rule ${rule}` : ""}`))));
    list(made, "Files", found.files.map((file) => make("li", "", where(file.path), make("span", "sub",
      make("b", "plus", `+${file.added}`), " ", make("b", "minus", `\u2212${file.removed}`),
      ` blob ${file.before.slice(0, 10)} \u2192 ${file.after.slice(0, 10)}`))));
    list(made, "Notes", found.notes.map((note) => make("li", "", note)));
    list(made, "The patch", about(found, patch, release));
    return made;
  };
  const about = (found, patch, release) => {
    const items = [];
    const add = (name, ...value) => items.push(pair(name, ...value));
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
    while (last + 1 < data.releases.length && finding({ row, column: last + 1 }).state === state) last += 1;
    const before = first > 0 ? `, ${finding({ row, column: first - 1 }).state} before` : "";
    const after = last + 1 < data.releases.length ? `, ${finding({ row, column: last + 1 }).state} from ${data.releases[last + 1]} on` : "";
    if (first === last) return `${state} on this release only${before}${after}`;
    return `${state} from ${data.releases[first]} to ${data.releases[last]}${before}${after}`;
  };
  const where = (text) => {
    /* Emphasize the file's name; the path may break anywhere before it. */
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
    const percent = `${Math.round(100 * each.similarity)}% similar`;
    likeness.title = percent;
    item.append(make("span", "alike", likeness, percent), make("pre", "", each.code));
    return item;
  };

  /* ---- diff ---- */

  const MANY = 400;
  const change = (found) => {
    const made = make("div", "change");
    if (found.diff === null) made.append(make("p", "nothing", NOTHING[found.state] || "Nothing is rendered for this release."));
    else made.append(...rendered(found));
    if (found.drift) made.prepend(make("h3", "heading", "What it rendered before, and renders now"), lined(found.drift), make("h3", "heading", "The change now"));
    const more = make("div", "more");
    list(more, "Nearest candidates", found.candidates.map(candidate));
    if (found.trace) more.append(make("h3", "", "Traceback of the codemod"), make("pre", "", found.trace));
    if (more.childNodes.length) made.append(more);
    return made;
  };
  const rendered = (found) => {
    const lines = data.diffs[found.diff].replace(/\n$/, "").split("\n");
    const view = make("div", "diff");
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
  const KINDS = { "+": "add", "-": "del", "@": "hunk" };
  /* A diff of two diffs: its lines are not numbered. */
  const lined = (text) => {
    const view = make("div", "diffs");
    view.append(...text.replace(/\n$/, "").split("\n").map((each, at) => line(at < 2 ? "meta" : KINDS[each[0]] || "same", each)));
    return view;
  };
  const NOTHING = {
    landed: "Nothing to apply: upstream has it.",
    absent: "Nothing to apply: the code it changes is not there yet.",
    obsolete: "Nothing to apply: the code it changes is gone.",
    conflict: "Nothing was rendered: a wrong edit is worse than none.",
    ambiguous: "Nothing was rendered: more code matches than expected.",
    blocked: "Nothing was rendered: a patch it requires failed.",
    crashed: "Nothing was rendered: the codemod raised.",
  };
  const diffReader = () => {
    /* A line that starts with --- or +++ is a header only outside a hunk, so the lines of a hunk are counted. */
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

  grid(section, { hash, find, fill, newest: true });
})();
