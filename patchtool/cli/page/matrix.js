"use strict";
/* The panel of the matrix: a test on a tree, and the same test on other trees. */
(() => {
  const { make, list, pair, grid } = patchtool;
  const section = document.getElementById("matrix");
  const data = JSON.parse(document.getElementById("matrix-data").textContent);

  const places = new Map();
  data.rows.forEach((each, row) => {
    for (const column of Object.keys(each.cells)) places.set(`test/${each.cells[column][0]}`, { row, column: Number(column) });
  });
  const cellOf = ({ row, column }) => {
    const [id, seconds, found] = data.rows[row].cells[column];
    return { id, seconds, ...data.findings[found] };
  };
  const tree = (column) => data.columns[column];
  const subset = ({ patches }) => {
    if (!patches.length) return "unmodified";
    if (patches.length > 1 && patches.length === data.patches.length) return "all patches";
    return `with ${patches.join(", ")}`;
  };
  const human = (test) => test.slice(test.indexOf("::") + 2).replace(/^test_/, "").replaceAll("_", " ");
  const swatch = (kind) => make("span", `swatch s-${kind}`, data.glyphs[kind]);

  const hash = ({ row, column }) => encodeURI(`test/${data.rows[row].cells[column][0]}`);
  const find = (words) => places.get(words) || null;
  const fill = (place) => {
    const found = cellOf(place);
    const test = data.rows[place.row].test;
    const { release } = tree(place.column);
    return {
      title: [make("b", "", human(test) || test), " on ", make("code", "", release), ` ${subset(tree(place.column))}`],
      said: `${human(test)} on ${release} ${subset(tree(place.column))}: ${data.words[found.kind]}`,
      body: [facts(found, test), others(place)],
    };
  };

  const facts = (found, test) => {
    const made = make("div", "facts");
    made.append(make("p", "verdict", swatch(found.kind), make("b", "", data.words[found.kind])));
    made.append(make("p", "meaning", data.meanings[found.kind]));
    if (found.detail) made.append(make("pre", "asserted", found.detail));
    else if (found.outcome === "passed") made.append(make("p", "detail", "All that it asserts held."));
    if (found.reason && found.reason !== found.detail) made.append(make("p", "detail why", found.reason));
    list(made, "What it measured", Object.entries(found.numbers).map(([name, value]) => pair(name.replaceAll("_", " "), make("b", "", value))));
    list(made, "The cell", [
      pair("test", make("code", "", test)),
      pair("tier", found.tier),
      pair("expected", found.expected || "nothing is known"),
      pair("outcome", found.outcome),
      pair("took", `${found.seconds.toFixed(2)} s`),
      ...Object.entries(found.more).map(([name, value]) => pair(name, value)),
      pair("run it", make("code", "", `patchtool test --release ${found.id.split("/")[0]} -k '${test}'`)),
    ]);
    return made;
  };

  /* The same test on the trees of this release, then on other releases. */
  const others = (place) => {
    const made = make("div", "change tree-list");
    const here = tree(place.column).release;
    const columns = Object.keys(data.rows[place.row].cells).map(Number);
    const near = columns.filter((column) => tree(column).release === here);
    const far = columns.filter((column) => tree(column).release !== here);
    const item = (named) => (column) => {
      const each = cellOf({ row: place.row, column });
      const link = make("a", "", `${named ? `${tree(column).release} ` : ""}${subset(tree(column))}`);
      link.href = `#${hash({ row: place.row, column })}`;
      return make("li", column === place.column ? "same" : "", swatch(each.kind), link, make("span", "what", make("span", "vh", `${data.words[each.kind]}: `), said(each)));
    };
    list(made, `The same test on every tree of ${here}`, near.map(item(false)));
    list(made, "On the other releases", far.map(item(true)));
    return made;
  };
  const said = (found) => {
    const numbers = Object.entries(found.numbers).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
    return [found.detail, numbers.join(", ")].filter(Boolean).join(" · ") || data.words[found.kind];
  };

  grid(section, { hash, find, fill, newest: false });
})();
