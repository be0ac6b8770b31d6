"""Documents of ``test --json``: mixed, landed, hostile, large."""

from typing import Any

from patchtool.workflow.matrix_results import matrix_document
from tests.cli.runs import proofs, verdicts
from tests.cli.surveys import EVIL

PATCHES = ("one_fix", "two_fix")
SUBSETS: tuple[tuple[str, ...], ...] = ((), ("one_fix",), ("two_fix",), PATCHES)


def mixed() -> dict[str, Any]:
    """A cell of every category."""
    return run(**matrix_document(verdicts(), proofs()))


def run(cells: list[dict[str, Any]], proofs: list[dict[str, Any]], notes: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"schema": 1, "verb": "test", "exit_code": 0, "cells": cells, "proofs": proofs, "notes": list(notes)}


def cell(
    release: str, patches: tuple[str, ...], test: str, outcome: str = "passed", *, tier: str = "emulated", **more: Any
) -> dict[str, Any]:
    expected = more.pop("expected", "green" if outcome == "passed" else "red")
    found = {
        "id": f"{release}/{tier}/{'+'.join(patches) or 'pristine'}/{test}",
        "tier": tier,
        "release": release,
        "patches": list(patches),
        "test": test,
        "outcome": outcome,
        "expected": expected,
        "verdict": "as-expected",
        "seconds": 0.5,
        "detail": "" if outcome == "passed" else "slots: got 1, want 2",
        "reason": "",
        "numbers": {},
    }
    return found | more


def proof(
    patch: str, release: str, structural: str, pristine: str | None, patched: str | None, verdict: str, detail: str = ""
) -> dict[str, Any]:
    return {
        "patch": patch,
        "release": release,
        "structural": structural,
        "pristine": pristine,
        "patched": patched,
        "verdict": verdict,
        "detail": detail,
    }


def calm() -> dict[str, Any]:
    """Two patches alone and together on v0.5.13; both landed in v0.5.14."""
    cells = []
    for number, owner in enumerate(PATCHES):
        for subset in SUBSETS:
            held = owner in subset
            syncs = {"syncs in 3 layers": 0 if held else 6, "syncs in 6 layers": 0 if held else 12, "batches": 4}
            cells += [
                cell(
                    "v0.5.13",
                    subset,
                    f"{owner}::test_it_works",
                    "passed" if held else "failed",
                    numbers=syncs if number else {},
                ),
                cell("v0.5.13", subset, f"{owner}::test_it_leaves_others_alone"),
            ]
        cells += [
            cell("v0.5.14", (), f"{owner}::test_it_works"),
            cell("v0.5.14", (), f"{owner}::test_it_leaves_others_alone"),
        ]
    because = [f"{owner}::test_it_works: slots: got 1, want 2" for owner in PATCHES]
    proofs = [proof(o, "v0.5.13", "applied", "red", "green", "agrees", why) for o, why in zip(PATCHES, because)]
    proofs += [proof(o, "v0.5.14", "landed", "green", None, "agrees") for o in PATCHES]
    return run(cells, proofs)


def hostile() -> dict[str, Any]:
    cells = [
        cell(
            "v0.5.13",
            (f"one{EVIL}",),
            f"group{EVIL}::test_{EVIL}",
            "failed",
            detail=EVIL,
            reason=EVIL,
            numbers={f"n{EVIL}": f"v{EVIL}", "endless": float("inf")},
            mode=EVIL,
            colour={"deep": [EVIL]},
        ),
        cell("v0.5.13", (), "plain::test_100%_of_#1", outcome="melted", verdict="odd", tier="npu"),
    ]
    return run(cells, [proof(f"one{EVIL}", "v0.5.13", EVIL, EVIL, EVIL, EVIL, f"a::b: {EVIL}")], (EVIL,))


def large(releases: int = 14, tests: int = 60, patches: int = 6) -> dict[str, Any]:
    names = tuple(f"patch_{number}" for number in range(patches))
    subsets = ((), *((name,) for name in names), names)
    cells = [
        cell(
            f"v0.5.{release}", subset, f"{names[test % patches]}::test_number_{test}", "passed" if subset else "failed"
        )
        for release in range(releases)
        for subset in subsets
        for test in range(tests)
    ]
    return run(cells, [])
