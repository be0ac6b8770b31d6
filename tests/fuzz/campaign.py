"""Random mutants of the real sources of the four patches, judged by the tool and, apart from it, by what they do."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

from patchtool.domain.state import State
from tests.fuzz.behaviour import behaviour
from tests.fuzz.mutations import Fix, Mutant, Mutator
from tests.semantic.patches.upstream import EXTEND, GDN, POOL, REPLAY, VERIFY, Upstream

RELEASES = ("0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.15")
TRACK = ("mamba_track_indices", "mamba_steps_to_track")
FIXES = (
    Fix("ssm_index_layout", (REPLAY,), ("state_indices_list_gdn", "ssm_state_indices")),
    Fix(
        "mtp_tracking",
        (VERIFY,),
        (*TRACK, "track_mask", "move_intermediate_cache", "conv_state_rollback", "conv_states"),
    ),
    Fix(
        "kv_copy_override",
        (f"{POOL}._init_kv_copy_and_warmup", f"{POOL}._create_buffers"),
        ("_kv_copy_config",),
        ("_init_kv_copy_and_warmup",),
    ),
    Fix(
        "track_index_precompute",
        (
            EXTEND,
            f"{GDN}._prepare_mamba_track_metadata",
            f"{GDN}.init_forward_metadata",
            f"{GDN}.init_forward_metadata_out_graph",
        ),
        (
            *("mamba_track_mask", "has_mamba_track_mask", "conv_states_mask_indices", "mask_indices", "conv_dst"),
            *("mixed_qkv_to_track", "_prepare_mamba_track_metadata", "super"),
        ),
        ("forward_metadata", "init_forward_metadata"),
    ),
)


@dataclass
class Finding:
    """A verdict that is wrong.

    Args:
        outcome: ``false landed``, ``wrong edit``, ``lost change`` or ``crash``.
        base: The source that was changed.
        mutant: The changed source.
        detail: What the tool said.
    """

    outcome: str
    base: Base
    mutant: Mutant
    detail: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Outcome, patch and kind of change."""
        return self.outcome, self.base.fix.patch, self.mutant.kind

    def __str__(self) -> str:
        lines = unified_diff(self.base.text.splitlines(), self.mutant.text.splitlines(), n=1, lineterm="")
        head = f"{self.outcome}: {self.base.name}, {self.mutant.kind}; {self.detail}"
        return "\n".join([head, *list(lines)[2:]])


@dataclass
class Tally:
    """The outcomes of a campaign."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


class Base:
    """A source that the fix is needed in, or is in.

    Args:
        fix: The patch.
        upstream: The release.
        release: Its version.
        fixed: Whether to start from the source with the fix.
    """

    def __init__(self, fix: Fix, upstream: Upstream, release: str, *, fixed: bool) -> None:
        self.fix, self.upstream = fix, upstream
        text = upstream.text(fix.patch)
        judgement = upstream.judge(fix.patch, text.encode())
        self.needed = judgement.state is State.APPLIED
        self.after = upstream.result(fix.patch, text.encode()).decode() if self.needed else text
        self.fixed = fixed or not self.needed
        self.text = self.after if self.fixed else text
        self.name = f"{fix.patch} on {release}, {'fixed' if self.fixed else 'needed'}"
        self.mutator = Mutator(fix, self.text)

    def mutants(self, choice: random.Random) -> Iterator[tuple[bool, Mutant]]:
        """Yield random mutants without end, each with whether it is a change of the fix."""
        while True:
            inside = bool(self.mutator.region) and choice.random() < 0.7
            mutant = self.mutator.inside(choice) if inside else self.mutator.unrelated(choice)
            if mutant is not None:
                yield inside, mutant


def judge(base: Base, mutant: Mutant, tally: Tally, *, inside: bool) -> None:
    """Judge one mutant, and compare with what it does."""
    patch = base.fix.patch
    judgement = base.upstream.judge(patch, mutant.text.encode())
    state = judgement.state
    outcome = "right"
    if state is State.CRASHED:
        outcome = "crash"
    elif not inside:
        outcome = _unrelated(base, mutant, state, next(iter(judgement.contents.values()), b"") or b"")
    elif state is State.LANDED:
        outcome = _landed(behaviour(patch, mutant.text), behaviour(patch, base.after))
    elif judgement.contents:
        result = (next(iter(judgement.contents.values())) or b"").decode()
        outcome = "right" if _edit_is_right(base, mutant, result) else "wrong edit"
    elif base.fixed and behaviour(patch, mutant.text) == behaviour(patch, base.after):
        outcome = "needless refusal"
    tally.counts[outcome] += 1
    if outcome not in ("right", "needless refusal", "landed, but raises"):
        tally.findings.append(Finding(outcome, base, mutant, f"{state.value}: {judgement.detail}"))


def _landed(found: Sequence[str], fixed: Sequence[str]) -> str:
    """Where all that differs raises, nobody can run the code and take it for right: see ADR 22."""
    others = [now for now, was in zip(found, fixed) if now != was]
    if not others:
        return "right"
    return "landed, but raises" if all(now.isidentifier() for now in others) else "false landed"


def _unrelated(base: Base, mutant: Mutant, state: State, result: bytes) -> str:
    if base.fixed:
        return "right" if state is State.LANDED else "wrong edit" if result else "needless refusal"
    if state is State.LANDED:
        return "false landed"
    if not result:
        return "needless refusal"
    expected = merged(base.after, base.text, mutant.text)
    return "right" if expected is None or expected.encode() == result else "lost change"


def _edit_is_right(base: Base, mutant: Mutant, result: str) -> bool:
    """Whether an edit of changed code does what the fix does, where the change alone does what upstream's code does."""
    patch = base.fix.patch
    done = behaviour(patch, result)
    if base.fixed or behaviour(patch, mutant.text) == behaviour(patch, base.text):
        return done == behaviour(patch, base.after)
    before = behaviour(patch, mutant.text)  # upstream does something else now: it must not raise where it did not
    return all(was.isidentifier() or not now.isidentifier() for was, now in zip(before, done))


def merged(ours: str, base: str, theirs: str) -> str | None:
    """Git's merge of two changes of a text, or None where they touch each other."""
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / each for each in ("ours", "base", "theirs")]
        for file, text in zip(files, (ours, base, theirs)):
            file.write_bytes(text.encode())
        run = subprocess.run(["git", "merge-file", "-p", *files], capture_output=True, check=False)
    return run.stdout.decode() if run.returncode == 0 else None


def campaign(upstreams: dict[str, Upstream], mutants: int, seed: int) -> Tally:
    """Judge random mutants of every patch on every release.

    Args:
        upstreams: The releases.
        mutants: How many.
        seed: The same seed makes the same mutants.
    """
    bases: dict[str, Base] = {}
    for fix in FIXES:
        for release, upstream in upstreams.items():
            for fixed in (False, True):
                base = Base(fix, upstream, release, fixed=fixed)
                bases.setdefault(f"{fix.patch} {base.text}", base)
    tally, choice = Tally(), random.Random(seed)
    sources = [(base, base.mutants(choice)) for base in bases.values()]
    for number in range(mutants):
        base, stream = sources[number % len(sources)]
        inside, mutant = next(stream)
        judge(base, mutant, tally, inside=inside)
    return tally


LISTED = frozenset(
    {
        ("false landed", "track_index_precompute", "changed before"),
        ("false landed", "track_index_precompute", "changed behind"),
        ("false landed", "track_index_precompute", "early exit"),
        ("false landed", "track_index_precompute", "around"),
    }
)
"""Wrong verdicts that are known, as outcome, patch and kind of change; the reasons are in ADR 22."""

MUTANTS = int(os.environ.get("PATCHTOOL_FUZZ_MUTANTS", "60"))
SEED = int(os.environ.get("PATCHTOOL_FUZZ_SEED", "1"))
