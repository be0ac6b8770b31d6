"""Queries that tests of pages run in the browser: focus, visible elements, contrast, work done."""

import json

from tests.cli.chromium import Page

FOCUS = "(() => { const e = document.activeElement; return e.dataset.at || e.id || e.dataset.state || e.tagName; })()"

# The lowest contrast of any visible text, and its element; of a gradient background every colour counts.
CONTRAST = """(() => {
  const rgb = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05); };
  const grounds = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.backgroundImage !== 'none') return style.backgroundImage.match(/rgba?\\([^)]*\\)/g).map(rgb);
      const found = rgb(style.backgroundColor);
      if (found.length === 3 || found[3] > 0) return [found];
    }
    return [[255, 255, 255]];
  };
  let worst = [99, ''];
  let count = 0;
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || e.closest('script, .vh, :disabled') || !e.getClientRects().length) continue;
    if (getComputedStyle(e).visibility === 'hidden') continue;
    count += 1;
    for (const ground of grounds(e)) {
      const found = ratio(rgb(getComputedStyle(e).color), ground);
      if (found < worst[0]) worst = [found, `${e.tagName}.${e.className}: ${e.textContent.slice(0, 40)}`];
    }
  }
  return [worst[0], worst[1], count];
})()"""

# What scrolls by itself, is wider than the window, or covers its neighbour in the flow of the page.
MISPLACED = """(() => {
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const box = e.getBoundingClientRect();
    if (!box.width || e.closest('.vh, thead')) continue;
    const style = getComputedStyle(e);
    const low = e.parentElement.getBoundingClientRect().bottom;
    const faults = {
      'has an overflow of its own': /auto|scroll|hidden/.test(style.overflowX + style.overflowY),
      'is wider than the window': box.right > innerWidth + 1 || box.left < -1,
      'is too high': e.className === 'tile' && box.bottom > low + 1,
      'is cut off': style.whiteSpace === 'nowrap' && e.clientWidth && e.scrollWidth > e.clientWidth + 1,
    };
    for (const fault in faults) if (faults[fault]) found.push(`${e.tagName}.${e.className} ${fault}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is too wide');
  return found;
})()"""


def shown(page: Page, selector: str) -> int:
    return int(
        page.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].filter((e) => e.getClientRects().length"
            " && getComputedStyle(e).visibility === 'visible').length"
        )
    )


def work(page: Page, code: str) -> tuple[int, int]:
    """Run code in the page and count the layouts and the mutations of the document that it causes.

    Counts do not depend on how busy the machine is, as times do.
    """
    page.call("Performance.enable")
    before = _layouts(page)
    mutations = page.evaluate(
        "(() => { const seen = new MutationObserver(() => {});"
        "seen.observe(document, { attributes: true, childList: true, subtree: true });"
        f"{code}; document.body.offsetHeight; return seen.takeRecords().length; }})()"
    )
    return _layouts(page) - before, int(mutations)


def listeners(page: Page) -> int:
    """Count the event listeners in the whole document."""
    root = page.call("Runtime.evaluate", expression="document")["result"]["objectId"]
    return len(page.call("DOMDebugger.getEventListeners", objectId=root, depth=-1)["listeners"])


def _layouts(page: Page) -> int:
    metrics = {item["name"]: item["value"] for item in page.call("Performance.getMetrics")["metrics"]}
    return int(metrics["LayoutCount"] + metrics["RecalcStyleCount"])
