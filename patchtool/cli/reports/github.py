"""What is wrong in a run as GitHub's workflow commands, which show it beside the code."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.state import Proof
from patchtool.matrix.cell import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.matrix.verdict import CellVerdict, PatchProof


def github_annotations(judged: Iterable[CellVerdict], proofs: Iterable[PatchProof], root: Path) -> str:
    """One line per dispute and unexpected cell, and one per reason for which cells could not run.

    Args:
        judged: Every cell with its verdict.
        proofs: Of every patch.
        root: The checkout; only files in it are named.

    Source: GitHub's workflow commands, ``::error file=…,title=…::message``.
    """
    lines = [
        _line("error", f"{proof.patch} on {proof.release} is disputed", proof.detail)
        for proof in proofs
        if proof.verdict is Proof.DISPUTES
    ]
    silent: dict[tuple[str, str], list[CellVerdict]] = defaultdict(list)
    for each in judged:
        result, cell = each.result, each.result.cell
        if each.verdict is Verdict.UNEXPECTED:
            wanted = cell.expected.value if cell.expected else "nothing"
            words = f"{result.outcome.value}, expected {wanted}. {result.detail} {each.why}".strip()
            lines.append(_line("error", cell.id, words, _inside(Path(cell.test.path), root)))
        elif each.verdict is Verdict.COULD_NOT_RUN:
            level = "warning" if result.outcome is Outcome.SKIPPED else "error"
            # GitHub shows ten lines of a kind: a missing package must not take them all
            silent[level, each.why or result.detail or result.outcome.value].append(each)
    lines += [_silent(level, reason, cells, root) for (level, reason), cells in silent.items()]
    return "".join(f"{line}\n" for line in lines)


def _silent(level: str, reason: str, cells: Sequence[CellVerdict], root: Path) -> str:
    first = cells[0].result.cell
    more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
    paths = {each.result.cell.test.path for each in cells}
    file = _inside(Path(first.test.path), root) if len(paths) == 1 else ""
    return _line(level, f"could not run: {first.id}{more}", reason, file)


def _inside(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return ""


def _line(level: str, title: str, message: str, file: str = "") -> str:
    properties = {"file": file, "title": title}
    words = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {words}::{_data(message or title)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
