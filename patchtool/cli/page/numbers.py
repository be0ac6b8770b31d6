"""What tests measured, before and after the series, neighbouring releases that say the same on one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patchtool.cli.page.document import text
from patchtool.cli.page.results import ShownCell, named
from patchtool.domain.release import Release

Value = float | str | None
_HEADS = ("test", "number", "release", "unmodified", "with the series")


@dataclass(frozen=True)
class Measured:
    """One number of one test on one release.

    Args:
        test: The test.
        name: The number's.
        release: The release.
        before: On the unmodified release.
        after: With the most patches that ran.
        both: Whether both trees ran, so that a missing number says something.
    """

    test: str
    name: str
    release: Release
    before: Value
    after: Value
    both: bool

    @property
    def changed(self) -> bool:
        """Whether the series makes a difference."""
        return self.both and self.before != self.after


def numbers(cells: Iterable[ShownCell]) -> str:
    """What the series changes, and behind a fold what it leaves alone or what one tree alone says."""
    found = measured(cells)
    if not found:
        return "<p>No test of this run measured anything.</p>"
    changed = [each for each in found if each.changed]
    rest = [each for each in found if not each.changed]
    shown = _table(changed) if changed else "<p>The series changes nothing of what was measured.</p>"
    return shown + (f"<details><summary>What stays as it is</summary>{_table(rest)}</details>" if rest else "")


def measured(cells: Iterable[ShownCell]) -> list[Measured]:
    """Every number by test and name, oldest release first."""
    trees: dict[tuple[str, Release], dict[int, Mapping[str, float | str]]] = {}
    for cell in cells:
        if cell.numbers:
            trees.setdefault((cell.test, cell.release), {})[len(cell.patches)] = cell.numbers
    found: list[Measured] = []
    for (test, release), by_size in trees.items():
        most = max(by_size)
        before, after = by_size.get(0, {}), by_size[most] if most else {}
        both = 0 in by_size and most > 0
        found += [
            Measured(test, name, release, before.get(name), after.get(name), both) for name in {**before, **after}
        ]
    order: dict[tuple[str, str], int] = {}
    tests = list(dict.fromkeys(each.test for each in found))
    for each in found:
        order.setdefault((each.test, each.name), len(order))
    return sorted(found, key=lambda m: (tests.index(m.test), order[m.test, m.name], m.release))


def _table(found: Sequence[Measured]) -> str:
    runs: list[list[Measured]] = []
    for each in found:
        last = runs[-1][-1] if runs else None
        if last and (last.test, last.name, last.before, last.after) == (each.test, each.name, each.before, each.after):
            runs[-1].append(each)
        else:
            runs.append([each])
    rows, before = [], ""
    for run in runs:
        rows.append(_row(run, first=run[0].test != before))
        before = run[0].test
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEADS)
    return (
        '<div class="wide" tabindex="0" role="group" aria-label="Numbers"><table class="facts-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(run: Sequence[Measured], *, first: bool) -> str:
    each = run[0]
    group, _, function = each.test.partition("::")
    label = function.removeprefix("test_").replace("_", " ") or each.test
    name = f"<code>{text(group)}</code> {text(label)}" if first else f'<span class="vh">{text(each.test)}</span>'
    sides = [value for value in (each.before, each.after) if _plain(value)]
    high = max((float(value) for value in sides if value is not None), default=0.0)
    return (
        f'<tr class="{"first" if first else "again"}"><th scope="row">{name}</th>'
        f"<td>{text(each.name.replace('_', ' '))}</td>"
        f'<td class="at">{text(named([m.release for m in run]))}</td>'
        f'<td>{_value(each.before, high)}</td><td class="after">{_value(each.after, high)}</td></tr>'
    )


def _plain(value: Value) -> bool:
    return isinstance(value, (int, float)) and value >= 0


def _value(value: Value, high: float) -> str:
    if value is None:
        return '<span class="number">\u2013</span>'
    bar = f'<meter aria-hidden="true" min="0" max="{high}" value="{value}"></meter>' if _plain(value) and high else ""
    return f'<span class="number">{text(str(value))}</span>{bar}'
