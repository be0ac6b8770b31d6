"""What a run of the matrix found: in sentences, what needs work, what it does not show, and what it measured."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from patchtool.cli.reports.run import FAILED, KNOWN, PASSED, SKIPPED, STUCK, UNEXPECTED, release_names, version
from patchtool.cli.reports.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from patchtool.cli.reports.run import CellRecord, ProofRecord, Run

_T = TypeVar("_T")


class Finding(NamedTuple):
    """Something to look at: the cells it is about, a sentence, and why."""

    cells: Sequence[CellRecord]
    sentence: str
    why: str


class Measurement(NamedTuple):
    """One number of one test on one release.

    Args:
        test: The test.
        name: The number's name.
        release: The release.
        before: On the unmodified release; None if it was not measured there.
        after: With the most patches that ran; None if it was not measured there.
        compared: Whether both trees ran, so that a missing number is a difference.
    """

    test: str
    name: str
    release: str
    before: float | str | None
    after: float | str | None
    compared: bool

    @property
    def changed(self) -> bool:
        """Whether the series makes a difference."""
        return self.compared and self.before != self.after


def run_headline(run: Run) -> str:
    """What the tests say of the series, in one sentence without its full stop."""
    if not run.cells:
        return "No cell was run"
    disputed = [f"{proof.patch} on {proof.release}" for proof in run.proofs if proof.verdict == "disputes"]
    if disputed:
        named = disputed if len(disputed) <= 3 else [*disputed[:2], f"{len(disputed) - 2} more"]
        return f"Tests dispute {listed(named)}"
    unexpected = sum(cell.category is UNEXPECTED for cell in run.cells)
    if unexpected:
        return f"{unexpected} of {counted(len(run.cells), 'cell')} had an unexpected outcome"
    agree = [proof for proof in run.proofs if proof.verdict == "agrees"]
    releases = sorted({cell.release for cell in run.cells}, key=version)
    where = f"on {releases[0]}"
    if len(releases) > 1:
        where = f"on {len(releases)} releases, {releases[0]} to {releases[-1]}"
    if not agree:
        return f"No patch is proven {where}{_main_cause(run)}"
    if len(agree) < len(run.proofs):
        return f"Tests confirm {len(agree)} of {counted(len(run.proofs), 'proof')} {where}"
    patches = len({proof.patch for proof in agree})
    return f"Tests confirm {'the patch' if patches == 1 else f'all {patches} patches'} {where}"


def _main_cause(run: Run) -> str:
    """What kept most cells from running, if one cause did."""
    causes = blocked_cells(run)
    most = max(causes, key=lambda cause: len(cause.cells), default=None)
    if most is None or 2 * len(most.cells) <= len(run.cells):
        return ""
    return f": {len(most.cells)} of {counted(len(run.cells), 'cell')} did not run" + f", {most.why}" * bool(most.why)


def run_sentences(run: Run) -> list[str]:
    """How many cells had which outcome."""
    count = Counter(cell.category for cell in run.cells)
    good = [f"{count[PASSED]} passed"]
    if failed := count[FAILED]:
        good.append(f"{failed} failed because a patch that {'it needs' if failed == 1 else 'they need'} is left out")
    if known := count[KNOWN]:
        good.append(f"{known} {'is' if known == 1 else 'are'} red for known faults of upstream")
    bad = [f"{count[category]} {category.word}" for category in (UNEXPECTED, STUCK, SKIPPED) if count[category]]
    lines = [f"{counted(len(run.cells), 'cell')}: {', '.join(good)}."] if run.cells else []
    return lines + ([f"In addition: {', '.join(bad)}; none of these counts as passed."] if bad else [])


def unexpected_cells(run: Run) -> list[Finding]:
    """Every cell with an unexpected outcome."""
    return [
        Finding(
            [cell],
            f"{cell.id}: {cell.outcome}, expected {cell.expected or 'nothing'}",
            " ".join(filter(None, (cell.detail, cell.reason))),
        )
        for cell in run.cells
        if cell.category is UNEXPECTED
    ]


def blocked_cells(run: Run, *, skipped: bool = True) -> list[Finding]:
    """Cells that could not run, one finding per reason: one missing package is one line, not a hundred.

    Args:
        run: The run.
        skipped: Whether to include skipped cells.
    """
    stuck = [cell for cell in run.cells if cell.category is STUCK or (skipped and cell.category is SKIPPED)]
    groups = _grouped(stuck, lambda cell: (cell.outcome, cell.blocker))
    return [Finding(cells, f"{first_of(cells)}: {cells[0].outcome}", cells[0].blocker) for cells in groups]


def known_failures(run: Run) -> list[Finding]:
    """Faults of upstream outside the series, one finding per test and reason."""
    groups = _grouped((cell for cell in run.cells if cell.category is KNOWN), lambda cell: (cell.test, cell.reason))
    return [
        Finding(
            cells,
            f"{cells[0].test} on {release_names(sorted({cell.release for cell in cells}, key=version))}, "
            f"{counted(len(cells), 'cell')}",
            cells[0].reason,
        )
        for cells in groups
    ]


def limits(run: Run, told: Collection[Finding] = ()) -> list[str]:
    """What this run does not show.

    Args:
        run: The run.
        told: Causes for which cells did not run that are told elsewhere.
    """
    elsewhere = {cause.why for cause in told}
    lines = []
    tiers = {cell.tier for cell in run.cells if cell.category is not SKIPPED}
    if "emulated" in tiers:
        lines.append(
            "Emulated cells run upstream's Python on the CPU, with reference kernels: they compare state plumbing. "
            "They show nothing about kernel maths, accuracy or speed, and host syncs are counted, not timed."
        )
    if "npu" not in tiers:
        lines.append("No cell ran on an NPU.")
    skipped = _grouped((cell for cell in run.cells if cell.category is SKIPPED), lambda cell: cell.blocker)
    lines += [
        f"{counted(len(cells), 'cell')} skipped, {first_of(cells)}: {cells[0].blocker}"
        for cells in skipped
        if cells[0].blocker not in elsewhere
    ]
    unproven = _grouped((p for p in run.proofs if p.verdict not in ("agrees", "disputes")), lambda proof: proof.detail)
    lines += [f"Not proven: {_proof_names(proofs)}. {proofs[0].detail}" for proofs in unproven]
    if not any("!" in name for cell in run.cells for name in cell.patches):
        lines.append(
            "Mutants, patches broken on purpose, are not among these cells: patchtool's own test suite checks that "
            "each is noticed."
        )
    return lines


def measurements(cells: Iterable[CellRecord]) -> list[Measurement]:
    """Every number by test and name, oldest release first."""
    trees: dict[tuple[str, str], dict[int, dict[str, float | str]]] = {}
    for cell in cells:
        if cell.numbers:
            trees.setdefault((cell.test, cell.release), {})[len(cell.patches)] = cell.numbers
    found: list[Measurement] = []
    for (test, release), by_size in trees.items():
        most = max(by_size)
        before, after = by_size.get(0, {}), by_size[most] if most else {}
        compared = 0 in by_size and most > 0
        found += [
            Measurement(test, name, release, before.get(name), after.get(name), compared)
            for name in {**before, **after}
        ]
    tests = {item.test: None for item in found}
    names = {(item.test, item.name): None for item in found}
    rank = {key: index for index, key in enumerate((*tests, *names))}
    return sorted(found, key=lambda item: (rank[item.test], rank[item.test, item.name], version(item.release)))


def measured_ranges(found: Iterable[Measurement]) -> list[list[Measurement]]:
    """Group consecutive releases with the same numbers."""
    return [list(group) for _, group in groupby(found, lambda item: (item.test, item.name, item.before, item.after))]


def proof_ranges(proofs: Sequence[ProofRecord]) -> list[list[ProofRecord]]:
    """Group a patch's proofs on consecutive releases with the same verdict, patches in the series' order."""
    order = {proof.patch: None for proof in proofs}
    ranks = {patch: rank for rank, patch in enumerate(order)}
    ordered = sorted(proofs, key=lambda proof: (ranks[proof.patch], version(proof.release)))
    groups = groupby(ordered, lambda p: (p.patch, p.structural, p.pristine, p.patched, p.verdict))
    return [list(group) for _, group in groups]


def first_of(cells: Sequence[CellRecord]) -> str:
    """The first cell's id, and how many more there are."""
    return cells[0].id + (f" and {len(cells) - 1} more" if len(cells) > 1 else "")


def _proof_names(proofs: Sequence[ProofRecord]) -> str:
    """One patch, release and state, and how many more there are."""
    more = f", and {len(proofs) - 1} more" if len(proofs) > 1 else ""
    return f"{proofs[0].patch} on {proofs[0].release}, {proofs[0].structural}{more}"


def _grouped(items: Iterable[_T], key: Callable[[_T], object]) -> list[list[_T]]:
    groups: dict[object, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
