"""A run of the matrix for a person: proofs first, then what needs a look, then numbers and counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from patchtool.domain.state import Proof
from patchtool.matrix.cell import Tier, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.verdict import CellVerdict, PatchProof

_COLORS = {Proof.AGREES: "32", Proof.DISPUTES: "31", Proof.NONE: "2"}
_LIMITS = (
    "emulated cells compare state plumbing on CPU references of the kernels: no kernel maths, no accuracy, no speed\n"
)


def matrix_text(
    judged: Sequence[CellVerdict], proofs: Sequence[PatchProof], *, verbose: bool = False, color: bool = False
) -> str:
    """Say what a run came to.

    Args:
        judged: Every cell with its verdict.
        proofs: Of every patch.
        verbose: With every cell.
        color: With terminal colours.
    """
    parts = [_proofs(proofs, color=color) if proofs else ""]
    parts.append(_section("unexpected", [_unexpected(each) for each in judged if each.verdict is Verdict.UNEXPECTED]))
    parts.append(_section("could not run", _silent(judged)))
    parts.append(_section("red for reasons outside the series", _known(judged)))
    parts.append(_section("numbers", _numbers(judged)))
    parts.append(_section("what ran, and what it does not show", _words(judged)))
    if verbose:
        parts.append(_section("cells", [_cell(each) for each in judged]))
    return "\n".join(part for part in parts if part) + ("\n" if any(parts) else "") + _counts(judged)


def _proofs(proofs: Sequence[PatchProof], *, color: bool) -> str:
    rows = [("patch", "release", "structural", "pristine", "patched", "verdict")]
    for each in proofs:
        colours = [colour.value if colour else "" for colour in (each.pristine, each.patched)]
        rows.append((each.patch, str(each.release), each.structural.value, *colours, each.verdict.value))  # type: ignore[arg-type]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [word.ljust(width) for word, width in zip(row, widths, strict=True)]
        proof = proofs[number - 1] if number else None
        if color and proof:
            cells[-1] = f"\x1b[{_COLORS[proof.verdict]}m{cells[-1].rstrip()}\x1b[0m"
        lines.append("  ".join(cells).rstrip())
        if proof and proof.verdict is not Proof.AGREES and proof.detail:
            lines.append(f"  because {_tame(proof.detail)}")
    return "".join(f"{line}\n" for line in lines)


def _section(title: str, lines: Iterable[str]) -> str:
    body = "".join(f"  {_tame(line)}\n" for line in lines)
    return f"{title}:\n{body}" if body else ""


def _tame(text: str) -> str:
    """Keep a terminal from obeying what upstream printed, and a detail on its line."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _unexpected(judged: CellVerdict) -> str:
    cell = judged.result.cell
    wanted = cell.expected.value if cell.expected else "nothing"
    why = f" ({judged.why})" if judged.why else ""
    return f"{cell.id}: {judged.result.outcome.value}, expected {wanted}{why}: {judged.result.detail}".rstrip(": ")


def _silent(judged: Iterable[CellVerdict]) -> list[str]:
    """Cells that could not run by reason: one missing package is one line, not a hundred."""
    groups: dict[str, list[CellVerdict]] = defaultdict(list)
    for each in judged:
        if each.verdict is Verdict.COULD_NOT_RUN:
            said = each.why or each.result.detail
            groups[f"{each.result.outcome.value}: {said}" if said else each.result.outcome.value].append(each)
    return [f"{_named(cells)}: {reason}" for reason, cells in groups.items()]


def _named(cells: Sequence[CellVerdict]) -> str:
    more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
    return f"{cells[0].result.cell.id}{more}"


def _is_known(judged: CellVerdict) -> bool:
    return judged.verdict is Verdict.AS_EXPECTED and bool(judged.result.cell.reason)


def _known(judged: Iterable[CellVerdict]) -> list[str]:
    """Each test once, with how many of its cells are red."""
    found = Counter(
        (str(each.result.cell.release), each.result.cell.test.name, each.result.cell.reason)
        for each in judged
        if _is_known(each)
    )
    return [f"{release} {test}, {count} cells: {reason}" for (release, test, reason), count in found.items()]


def _numbers(judged: Iterable[CellVerdict]) -> list[str]:
    """What a test measured on the unmodified release and with the most patches, where the two differ."""
    found: dict[tuple[Release, str], dict[int, Mapping[str, float | str]]] = defaultdict(dict)
    for each in judged:
        numbers = {name: value for name, value in each.result.numbers.items() if not isinstance(value, str)}
        if numbers:
            cell = each.result.cell
            found[cell.release, cell.test.name][len(cell.patches)] = numbers
    lines = []
    for (release, test), by_size in found.items():
        before, after = by_size.get(0), by_size[max(by_size)]
        if before is not None and len(by_size) > 1:
            names = [name for name in after if name in before and before[name] != after[name]]
            lines += [f"{release} {test}: {name} {before[name]} -> {after[name]}" for name in names]
        elif before is None:
            lines += [f"{release} {test}: {name} {value}" for name, value in after.items()]
    return lines


def _words(judged: Iterable[CellVerdict]) -> list[str]:
    """What cells say of themselves in words, once for all tests of a file that say the same."""
    lines = {
        f"{each.result.cell.release} {each.result.cell.test.name.partition('::')[0]}: {name.replace('_', ' ')} {value}"
        for each in judged
        for name, value in each.result.numbers.items()
        if isinstance(value, str)
    }
    return sorted(lines)


def _cell(judged: CellVerdict) -> str:
    result = judged.result
    return f"{judged.verdict.value}  {result.outcome.value}  {result.seconds:.2f} s  {result.cell.id}"


def _counts(judged: Sequence[CellVerdict]) -> str:
    outcomes = Counter(each.result.outcome.value for each in judged)
    verdicts = Counter(each.verdict for each in judged)
    words = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict)
    parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    limits = _LIMITS if any(each.result.cell.tier is Tier.EMULATED for each in judged) else ""
    return f"{limits}{len(judged)} cells: {words}" + (f" ({parts})\n" if parts else "\n")
