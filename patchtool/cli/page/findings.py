"""What a run of the matrix comes to in a few sentences: how it stands, what needs work, what it does not show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from patchtool.cli.page.layout import Kind, kind
from patchtool.cli.page.results import Results, ShownCell, ShownProof, named
from patchtool.domain.release import Release

Item = tuple[ShownCell | None, str, str]
"""A cell to link to, words about it, and its detail."""


def matrix_headline(results: Results) -> str:
    """How the series stands by its tests."""
    if not results.cells:
        return "No cell was run"
    disputed = [proof for proof in results.proofs if proof.verdict == "disputes"]
    if disputed:
        return f"Tests dispute {_listed([f'{proof.patch} on {proof.release}' for proof in disputed])}"
    off = sum(kind(cell) is Kind.UNEXPECTED for cell in results.cells)
    if off:
        return f"{off} of {_cells(len(results.cells))} came out other than expected"
    agree = [proof for proof in results.proofs if proof.verdict == "agrees"]
    where = _where(results)
    if not agree:
        return f"No patch is proven {where}"
    if len(agree) < len(results.proofs):
        return f"Tests confirm {len(agree)} of {_proofs(results.proofs)} {where}"
    patches = len({proof.patch for proof in agree})
    return f"Tests confirm {'the patch' if patches == 1 else f'all {patches} patches'} {where}"


def matrix_sentences(results: Results) -> list[str]:
    """What a maintainer wants to know at once."""
    seen = Counter(map(kind, results.cells))
    good = [f"{seen[Kind.PASSED]} passed"]
    good += [f"{seen[Kind.FAILED]} failed because a patch that they need is left out"] if seen[Kind.FAILED] else []
    good += [f"{seen[Kind.KNOWN]} are red for known faults of upstream"] if seen[Kind.KNOWN] else []
    lines = [f"{_cells(len(results.cells))}: {', '.join(good)}."] if results.cells else []
    off = [f"{seen[Kind.UNEXPECTED]} unexpected"] if seen[Kind.UNEXPECTED] else []
    off += [f"{seen[Kind.STUCK]} could not run"] if seen[Kind.STUCK] else []
    off += [f"{seen[Kind.SKIPPED]} skipped"] if seen[Kind.SKIPPED] else []
    if off:
        lines.append(f"Beside them: {', '.join(off)}; none of these counts as passed.")
    return lines


def work(results: Results) -> list[Item]:
    """What needs a person: unexpected cells one by one, cells that could not run by their reason."""
    found: list[Item] = []
    for cell in results.cells:
        if kind(cell) is Kind.UNEXPECTED:
            words = f"{cell.id}: {cell.outcome}, expected {cell.expected or 'nothing'}"
            found.append((cell, words, " ".join(filter(None, (cell.detail, cell.reason)))))
    groups: dict[tuple[str, str], list[ShownCell]] = {}
    for cell in results.cells:
        if kind(cell) is Kind.STUCK:
            groups.setdefault((cell.outcome, cell.reason or cell.detail), []).append(cell)
    for (outcome, why), cells in groups.items():
        found.append((cells[0], f"{_and_more(cells)}: {outcome}, says nothing", why))
    return found


def known_reds(results: Results) -> list[Item]:
    """Each fault of upstream once for each test."""
    groups: dict[tuple[str, str], list[ShownCell]] = {}
    for cell in results.cells:
        if kind(cell) is Kind.KNOWN:
            groups.setdefault((cell.test, cell.reason), []).append(cell)
    return [
        (cells[0], f"{test} on {named(_releases(cells))}, {_cells(len(cells))}", reason)
        for (test, reason), cells in groups.items()
    ]


def limits(results: Results) -> list[str]:
    """What this run does not show."""
    lines = []
    tiers = {cell.tier for cell in results.cells if kind(cell) is not Kind.SKIPPED}
    if "emulated" in tiers:
        lines.append(
            "Emulated cells run upstream's Python on the CPU, on references of the kernels: they compare state "
            "plumbing. They say nothing about kernel maths, accuracy or speed, and host syncs are counted, not timed."
        )
    if "npu" not in tiers:
        lines.append("No cell ran on an NPU.")
    groups: dict[str, list[ShownCell]] = {}
    for cell in results.cells:
        if kind(cell) is Kind.SKIPPED:
            groups.setdefault(cell.reason or cell.detail or "skipped", []).append(cell)
    lines += [f"{_cells(len(cells))} skipped, {_and_more(cells)}: {why}" for why, cells in groups.items()]
    unproven = [proof for proof in results.proofs if proof.verdict not in ("agrees", "disputes")]
    lines += [f"Not proven: {proof.patch} on {proof.release}, {proof.structural}. {proof.detail}" for proof in unproven]
    if not any("!" in name for cell in results.cells for name in cell.patches):
        lines.append(
            "Mutants, patches broken on purpose, are not among these cells: patchtool's own test suite asks whether "
            "each is noticed."
        )
    return lines


def _where(results: Results) -> str:
    releases = _releases(results.cells)
    return (
        f"on {releases[0]}" if len(releases) == 1 else f"on {len(releases)} releases, {releases[0]} to {releases[-1]}"
    )


def _releases(cells: Iterable[ShownCell]) -> list[Release]:
    return sorted({cell.release for cell in cells})


def _and_more(cells: list[ShownCell]) -> str:
    return cells[0].id + (f" and {len(cells) - 1} more" if len(cells) > 1 else "")


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _proofs(proofs: tuple[ShownProof, ...]) -> str:
    return "1 proof" if len(proofs) == 1 else f"{len(proofs)} proofs"


def _listed(parts: list[str]) -> str:
    shown = parts if len(parts) <= 3 else [*parts[:2], f"{len(parts) - 2} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
