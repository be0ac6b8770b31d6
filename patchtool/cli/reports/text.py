"""Reports and errors as text for a person, or as one JSON document."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from patchtool.domain.errors import ExitCode, PatchtoolError
from patchtool.domain.report import SCHEMA
from patchtool.domain.state import Proof, State

if TYPE_CHECKING:
    from patchtool.cli.options import OutputOptions
    from patchtool.domain.rebase import RebasePlan
    from patchtool.domain.report import PatchReport, Report, UpstreamReport

COLORS = {
    State.APPLIED: "32",
    State.LANDED: "36",
    State.PARTIAL: "33",
    State.ABSENT: "2",
    State.DRIFTED: "33",
    State.CONFLICT: "31",
    State.AMBIGUOUS: "31",
    State.BLOCKED: "31",
    State.CRASHED: "31",
}


def show(report: Report, face: OutputOptions) -> None:
    """Write a report to stdout."""
    if face.json:
        write(_document(report.to_json()))
        return
    if report.kind == "diff":
        # Notes go beside it, so that what is on stdout is a diff and nothing else.
        sys.stderr.write("" if face.quiet else "".join(f"note: {note}\n" for note in report.notes))
    write(text(report, verbose=face.verbose, quiet=face.quiet, color=face.color and colorful()))


def colorful() -> bool:
    """Whether stdout is a terminal that wants colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def text(report: Report, *, verbose: bool, quiet: bool, color: bool) -> str:
    """A report for a person.

    Args:
        report: What to say.
        verbose: With evidence, and tracebacks of codemods.
        quiet: Only the table.
        color: With terminal colours.
    """
    parts: list[str] = []
    if report.kind == "diff":
        return report.text
    if report.upstream is not None and not quiet:
        parts.append(_upstream(report.upstream))
    if report.kind == "table" and report.patches:
        parts.append(table(report.patches, color=color))
        parts += [_trouble(patch) for patch in report.patches if _needs_words(patch)]
    if report.kind == "rebase" and report.plan is not None:
        parts.append(plan_table(report.plan, report.patches, color=color))
        parts += [explanation(patch) for patch in report.patches if verbose or _needs_words(patch)]
        parts += [_fails_since(report.plan)]
    if report.kind == "explain":
        parts += [explanation(patch) for patch in report.patches]
    if verbose and report.kind == "table":
        parts += [explanation(patch) for patch in report.patches]
    if verbose:
        parts += [patch.judgement.trace for patch in report.patches if patch.judgement.trace]
    if report.text:
        parts.append(report.text)
    tail = "" if quiet else "".join(f"note: {note}\n" for note in report.notes)
    if report.headline:
        tail += report.headline + "\n"
    return "\n".join(part.rstrip("\n") + "\n" for part in [*parts, tail] if part)


def _upstream(found: UpstreamReport) -> str:
    release = str(found.release) if found.release else "of an unknown release"
    commit = f", commit {found.commit[:12]}" if found.commit else ""
    digest = f" sha256:{found.digest[:12]}…" if found.digest else ""
    return f"sglang {release}{commit}\n" + (f"from {found.artifact}{digest}\n" if found.artifact else "")


def table(patches: Sequence[PatchReport], *, color: bool) -> str:
    """Patch, state, sites, files, lines, one row each."""
    head = ("patch", "state", "proof", "sites", "files", "+/-")
    proofs = any(p.judgement.proof is not Proof.NONE for p in patches)
    rows = [
        (
            p.info.name,
            p.judgement.state.value,
            p.judgement.proof.value,
            str(len(p.judgement.sites)) if p.judgement.state.changes_tree else "",
            str(len(p.judgement.changes)) if p.judgement.changes else "",
            f"+{p.added}/-{p.removed}" if p.judgement.changes else "",
        )
        for p in patches
    ]
    columns = [i for i in range(len(head)) if i != 2 or proofs]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = ["  ".join(head[i].ljust(widths[i]) for i in columns).rstrip()]
    for row, patch in zip(rows, patches):
        cells = [row[i].ljust(widths[i]) for i in columns]
        if color:
            cells[1] = f"\x1b[{COLORS[patch.judgement.state]}m{cells[1]}\x1b[0m"
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def plan_table(plan: RebasePlan, patches: Sequence[PatchReport], *, color: bool) -> str:
    """What each patch was and is, and the evidence in short."""
    rows = [("patch", str(plan.start), str(plan.to), "because")]
    for step, patch in zip(plan.steps, patches):
        rows.append((step.patch, step.before or "?", step.after, _because(patch)))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = []
    for number, row in enumerate(rows):
        cells = [row[i].ljust(widths[i]) for i in range(3)]
        if color and number:
            cells[2] = f"\x1b[{COLORS[State(row[2])]}m{cells[2]}\x1b[0m"
        lines.append("  ".join([*cells, row[3]]).rstrip())
    return "\n".join(lines) + "\n"


def _because(patch: PatchReport) -> str:
    found = patch.judgement
    held = [goal for goal in found.goals if goal.held_before]
    if found.state is State.LANDED and held:
        lines = ", ".join(goal.evidence.rpartition(":")[2] for goal in held)
        return f"all {len(held)} goals hold, lines {lines}"
    if found.state.changes_tree:
        return f"{len(found.sites)} site{'s' if len(found.sites) != 1 else ''}, +{patch.added}/-{patch.removed}"
    return found.reason or ""


def _fails_since(plan: RebasePlan) -> str:
    known = [step for step in plan.steps if step.changed_on is not None]
    return "".join(f"{step.patch} fails from {step.changed_on} on, of the releases in the store\n" for step in known)


def _needs_words(patch: PatchReport) -> bool:
    return patch.judgement.state.exit_code is not ExitCode.OK or patch.judgement.state is State.PARTIAL


def _trouble(patch: PatchReport) -> str:
    """Why, and the nearest code, in a few lines."""
    found = patch.judgement
    lines = [f"{patch.info.name}: {found.state.value} ({found.reason}): {found.detail}"]
    lines += [
        f"  nearest: {c.path}:{c.line} in {c.symbol}, {c.similarity:.0%} alike: {c.code}" for c in found.candidates
    ]
    lines.append(f"  hint: patchtool explain {patch.info.name}")
    return "\n".join(lines) + "\n"


def explanation(patch: PatchReport) -> str:
    """All that a judgement found."""
    found, info = patch.judgement, patch.info
    lines = [f"{info.name}: {found.state.value}" + (f" ({found.reason})" if found.reason else "")]
    lines.append(f"  {info.title}")
    if found.detail:
        lines.append(f"  why: {found.detail}")
    for goal in found.goals:
        mark = "was there" if goal.held_before else "made" if goal.held_after else "missing"
        where = f" at {goal.evidence}" if goal.held_before else f" ({goal.evidence})" if not goal.held_after else ""
        lines.append(f"  goal: {goal.name}: {mark}{where}")
    lines += [f"  site: {site.path}:{site.line} in {site.symbol}, rule {site.rule}" for site in found.sites]
    lines += [f"  file: {c.path} +{c.added}/-{c.removed} {c.before[:12]} -> {c.after[:12]}" for c in found.changes]
    lines += [
        f"  nearest: {c.path}:{c.line} in {c.symbol}, {c.similarity:.0%} alike: {c.code}" for c in found.candidates
    ]
    lines += [f"  note: {note}" for note in found.notes]
    if found.proof is not Proof.NONE:
        lines.append(f"  proof: {found.proof.value}")
    if patch.since:
        lines.append(f"  since: {patch.since}")
    if info.applied_upstream:
        lines.append(f"  upstream: {info.applied_upstream}")
    return "\n".join(lines) + "\n"


def error_text(error: PatchtoolError) -> str:
    """An error with its cause and the next command."""
    lines = [f"error: {error.message}"]
    if error.cause:
        lines.append(f"caused by: {error.cause}")
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines) + "\n"


def write_error_json(error: PatchtoolError, verb: str | None) -> None:
    """An error as the one JSON document."""
    body = {"message": error.message, "cause": error.cause, "hint": error.hint}
    write(_document({"schema": SCHEMA, "verb": verb, "exit_code": int(error.exit_code), "error": body}))


def _document(told: dict[str, Any]) -> str:
    text = json.dumps(told, indent=2, ensure_ascii=False)
    # Bytes of upstream that are not UTF-8 are surrogates here; the document must be UTF-8 all the same.
    return (json.dumps(told, indent=2) if re.search("[\ud800-\udfff]", text) else text) + "\n"


def write(words: str) -> None:
    """Bytes of upstream that are not UTF-8 go out as they came in."""
    sys.stdout.flush()
    sys.stdout.buffer.write(words.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def silence_stdout() -> None:
    """Somebody closed the pipe: the interpreter must not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
