"""Reports and errors as text for the terminal."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from patchtool.cli.reports.words import counted
from patchtool.domain.errors import ExitCode
from patchtool.domain.state import Proof, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from patchtool.domain.errors import PatchtoolError
    from patchtool.domain.mismatch import Mismatch
    from patchtool.domain.patch import PatchReport
    from patchtool.domain.report import Report

COLORS = {
    "applied": "32",
    "landed": "36",
    "partial": "33",
    "absent": "2",
    "drifted": "33",
    "obsolete": "33",
    "not-applied": "33",
    "outdated": "33",
    "edited": "33",
    "conflict": "31",
    "ambiguous": "31",
    "blocked": "31",
    "crashed": "31",
}


def report_text(report: Report, *, verbose: bool, quiet: bool, color: bool) -> str:
    """Format a report by its kind.

    Args:
        report: The report; its ``kind`` chooses what of its patches is shown.
        verbose: Whether to add evidence, and tracebacks of codemods.
        quiet: Whether to leave out upstream and notes.
        color: Whether to use terminal colours.
    """
    if report.kind == "diff":
        return report.text
    quiet = quiet or (report.kind == "brief" and not verbose)
    parts = [] if quiet else [_upstream(report)]
    parts += _PARTS[report.kind](report, verbose, color)
    parts += [patch.judgement.trace for patch in report.patches if verbose]
    tail = "" if quiet else "".join(f"note: {note}\n" for note in report.notes)
    tail += f"{report.headline}\n" if report.headline else ""
    return "\n".join(part.rstrip("\n") + "\n" for part in [*parts, report.text, tail] if part)


def _table_parts(report: Report, verbose: bool, color: bool) -> Iterator[str]:
    if report.patches:
        yield patch_table(report.patches, color=color)
    yield from (_failure(patch) for patch in report.patches if _is_notable(patch))
    if verbose:
        yield from map(explanation, report.patches)
    else:
        yield from map(_notes, report.patches)


def _rebase_parts(report: Report, verbose: bool, color: bool) -> Iterator[str]:
    if report.plan is None:
        return
    rows = [("patch", str(report.plan.start), str(report.plan.to), "because")]
    for step, patch in zip(report.plan.steps, report.patches):
        rows.append((step.patch, step.before or "?", state_words(patch), _because(patch)))
    yield _lines(aligned(rows, _colors(report.patches, 2) if color else {}))
    yield from (explanation(patch) if verbose or _is_notable(patch) else _notes(patch) for patch in report.patches)
    yield _lines(
        f"{step.patch} fails from {step.changed_on} on, of the releases in the store"
        for step in report.plan.steps
        if step.changed_on is not None
    )


def _explain_parts(report: Report) -> Iterator[str]:
    yield from map(explanation, report.patches)
    if report.mismatches is not None:
        yield from map(_mismatch_text, report.mismatches)
        if not report.mismatches:
            yield "every rule has its sites, and every goal is met\n"


def _mismatch_text(found: Mismatch) -> str:
    """Where a template and the nearest code part, on a few lines."""
    lines = [f"rule {found.rule}, {found.what}: {found.reason}"]
    if found.path:
        column = f":{found.column}" if found.column else ""
        alike = f", {found.similarity:.0%} alike" if 0 < found.similarity < 1 else ""
        where = f" in {found.symbol}" if found.symbol else ""
        lines.append(f"  at {found.path}:{found.line}{column}{where}{alike}")
    if found.expected or found.found:
        lines += [f"  the template has: {found.expected or 'nothing'}"]
        lines += [f"  the code has:     {found.found or 'nothing'}"] if found.path else []
    return _lines(lines)


def _series_parts(report: Report, verbose: bool, color: bool) -> Iterator[str]:
    del verbose
    rows = [("patch", "kind", "state", "needs", "title")]
    colors = {}
    for number, patch in enumerate(report.extra["series"], start=1):
        needs = ", ".join(patch["needs"]) or "-"
        rows.append((patch["name"], patch["kind"], patch["state"], needs, patch["title"]))
        colors[number, 2] = COLORS[patch["state"]]
    yield _lines(aligned(rows, colors if color else {}))
    touched: dict[str, list[str]] = {}
    for patch in report.extra["series"]:
        for path in patch["files"]:
            touched.setdefault(path, []).append(patch["name"])
    yield _lines(f"{path}: {', '.join(names)}" for path, names in sorted(touched.items()))


_PARTS: dict[str, Callable[..., Iterable[str]]] = {
    "table": _table_parts,
    "rebase": _rebase_parts,
    "series": _series_parts,
    "brief": lambda report, verbose, color: _table_parts(report, verbose, color) if verbose else (),
    "explain": lambda report, *_: _explain_parts(report),
    "none": lambda *_: (),
}
"""What a kind of report shows of its patches, given the report, ``verbose`` and ``color``."""


def aligned(rows: Sequence[Sequence[str]], colors: Mapping[tuple[int, int], str] = MappingProxyType({})) -> list[str]:
    """Pad rows to columns.

    Args:
        rows: The head and the rows, of equal length.
        colors: Colours by row and column.
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    widths[-1:] = [0]  # nothing follows the last column
    lines = []
    for number, row in enumerate(rows):
        padded = (cell.ljust(width) for cell, width in zip(row, widths))
        lines.append("  ".join(tinted(cell, colors.get((number, column), "")) for column, cell in enumerate(padded)))
    return [line.rstrip() for line in lines]


def tinted(text: str, color: str) -> str:
    """Text in a terminal colour, or as it is."""
    return f"\x1b[{color}m{text}\x1b[0m" if color else text


def patch_table(patches: Sequence[PatchReport], *, color: bool) -> str:
    """One row per patch: state, proof where there is one, sites, files and lines."""
    rows = [["patch", "state", "proof", "sites", "files", "+/-"]]
    for patch in patches:
        found = patch.judgement
        sites = str(len(found.sites)) if found.state.changes_tree and not patch.info.is_text else ""
        files, lines = (str(len(found.changes)), _lines_changed(patch)) if found.changes else ("", "")
        rows.append([patch.info.name, state_words(patch), found.proof.value, sites, files, lines])
    if all(patch.judgement.proof is Proof.NONE and not patch.judgement.proof_detail for patch in patches):
        for row in rows:
            del row[2]
    return _lines(aligned(rows, _colors(patches, 1) if color else {}))


def state_name(patch: PatchReport) -> str:
    """A patch's state in the folder that the report is about, else on the release."""
    return patch.on_disk.state.value if patch.on_disk else patch.judgement.state.value


def state_words(patch: PatchReport) -> str:
    """A patch's state; that it landed is a claim about structure, so it is said whether tests have confirmed it."""
    found = patch.judgement
    if state_name(patch) != State.LANDED.value:
        return state_name(patch).replace("-", " ") + " (accepted)" * _is_accepted(patch)
    if found.proof is Proof.AGREES:
        return f"landed (proven on {found.proven_on})"
    return "landed (disputed)" if found.proof is Proof.DISPUTES else "landed (unproven)"


def _is_accepted(patch: PatchReport) -> bool:
    """Whether the user accepted the state that the patch is told to have."""
    return bool(patch.accepted) and state_name(patch) == State.DRIFTED.value


def _colors(patches: Sequence[PatchReport], column: int) -> dict[tuple[int, int], str]:
    return {(row, column): COLORS[state_name(patch)] for row, patch in enumerate(patches, start=1)}


def explanation(patch: PatchReport) -> str:
    """All evidence for a patch's state."""
    found, info = patch.judgement, patch.info
    lines = [f"{info.name}: {state_words(patch)}" + (f" ({found.reason})" if found.reason else ""), f"  {info.title}"]
    if patch.on_disk and patch.on_disk.detail:
        lines.append(f"  on disk: {patch.on_disk.detail}")
    if found.detail:
        lines.append(f"  why: {found.detail}")
    if patch.accepted:
        lines.append(f"  accepted: {patch.accepted}")
    for goal in found.goals:
        status = f"missing ({goal.evidence})"
        if goal.held_before:
            status = f"was there at {goal.evidence}"
        elif goal.held_after:
            status = "made by the patch"
        lines.append(f"  {'hunk' if info.is_text else 'goal'}: {goal.name}: {status}")
    lines += [f"  site: {site.path}:{site.line} in {site.symbol}, rule {site.rule}" for site in found.sites]
    lines += [f"  file: {c.path} +{c.added}/-{c.removed} {c.before[:12]} -> {c.after[:12]}" for c in found.changes]
    lines += [*_nearest(patch), *_drift(patch)]
    lines += [f"  note: {note}" for note in found.notes]
    if found.proof is not Proof.NONE:
        lines.append(f"  proof: {found.proof.value}, on {found.proven_on}")
    elif found.proof_detail:
        lines.append(f"  proof: none, {found.proof_detail}")
    if patch.since:
        lines.append(f"  since: {patch.since}")
    if info.applied_upstream:
        lines.append(f"  upstream: {info.applied_upstream}")
    return _lines(lines)


def error_text(error: PatchtoolError) -> str:
    """An error with its cause and the next command."""
    parts = {"error": error.message, "caused by": error.cause, "hint": error.hint}
    return _lines(f"{label}: {text}" for label, text in parts.items() if text)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _upstream(report: Report) -> str:
    upstream = report.upstream
    if upstream is None:
        return ""
    commit = f", commit {upstream.commit[:12]}" if upstream.commit else ""
    digest = f" sha256:{upstream.digest[:12]}…" if upstream.digest else ""
    artifact = f"from {upstream.artifact}{digest}\n" if upstream.artifact else ""
    return f"{upstream.project} {upstream.release or 'of an unknown release'}{commit}\n{artifact}"


def _because(patch: PatchReport) -> str:
    found = patch.judgement
    held = [goal for goal in found.goals if goal.held_before]
    if found.state is State.LANDED and held:
        if patch.info.is_text:
            return "upstream has all of it"
        lines = ", ".join(goal.evidence.rpartition(":")[2] for goal in held)
        return f"all {len(held)} goals hold, lines {lines}" if len(held) > 1 else f"its goal holds, line {lines}"
    if found.state.changes_tree:
        where = counted(len(found.changes), "file") if patch.info.is_text else counted(len(found.sites), "site")
        return f"{where}, {_lines_changed(patch)}"
    return found.reason or ""


def _lines_changed(patch: PatchReport) -> str:
    return f"+{patch.added}/-{patch.removed}"


def _is_notable(patch: PatchReport) -> bool:
    explained = patch.on_disk is not None and patch.on_disk.reason is not None
    needs_work = patch.judgement.state.exit_code is not ExitCode.OK and not _is_accepted(patch)
    return needs_work or patch.judgement.state is State.PARTIAL or explained


def _failure(patch: PatchReport) -> str:
    """Why, and the nearest code, in a few lines."""
    found, name = patch.judgement, patch.info.name
    on_disk = patch.on_disk
    if on_disk and on_disk.reason:
        return _lines([f"{name}: {state_words(patch)} ({on_disk.reason}): {on_disk.detail}"])
    first = f"{name}: {found.state.value} ({found.reason}): {found.detail}"
    hint = [] if on_disk else [f"  hint: patchtool explain {name}"]  # for a folder, the last line has it
    return _lines([first, *_nearest(patch), *hint, *_drift(patch)])


def _notes(patch: PatchReport) -> str:
    return _lines(f"note: {patch.info.name}: {note}" for note in patch.judgement.notes)


def _drift(patch: PatchReport) -> list[str]:
    return [f"  {line}" for line in patch.drift.splitlines()]


def _nearest(patch: PatchReport) -> list[str]:
    return [
        f"  nearest: {c.path}:{c.line} in {c.symbol}, {c.similarity:.0%} similar: {c.code}"
        for c in patch.judgement.candidates
    ]
