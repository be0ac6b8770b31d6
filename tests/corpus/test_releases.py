"""The series on every real release agrees with what is known of it, and nothing is ever inserted twice."""

# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

import pytest

PATCHES = ("ssm_index_layout", "mtp_tracking", "kv_copy_override", "track_index_precompute")
STATES = {"A": "applied", "L": "landed", "-": "absent"}
FACTS = {
    "0.5.10": "--A-",
    "0.5.10.post1": "--A-",
    "0.5.11": "AAAA",
    "0.5.12": "AAAA",
    "0.5.12.post1": "AAAA",
    "0.5.13": "AAAA",
    "0.5.13.post1": "AAAA",
    "0.5.14": "LLLA",
    "0.5.15": "LLLL",
    "0.5.15.post1": "LLLL",
    "0.5.16": "LLLL",
    "0.5.17": "LLLL",
    "0.5.18": "LLLL",
    "0.5.19": "LLLL",
    "0.5.20": "LLLL",
    "0.5.21": "LLLL",
    "0.5.22": "LLLL",
    "0.5.23": "LLLL",
}


@pytest.mark.parametrize("version", FACTS)
def test_states_agree_with_the_facts(judge_release, version):
    found = judge_release(version)
    assert {name: j.state.value for name, j in found.items()} == {
        name: STATES[letter] for name, letter in zip(PATCHES, FACTS[version])
    }
    for name, judgement in found.items():
        if judgement.state.value == "landed":
            assert judgement.goals, name
            assert all(goal.held_before and goal.evidence for goal in judgement.goals)
            assert not judgement.contents


@pytest.mark.parametrize("version", ["0.5.11", "0.5.13", "0.5.14"])
def test_only_the_hooks_that_have_the_batch_are_patched(judge_release, version):
    sites = [s for s in judge_release(version)["track_index_precompute"].sites if s.rule == "hooks"]
    names = {site.symbol.rpartition(".")[2] for site in sites}
    late = {"init_forward_metadata", "init_forward_metadata_out_graph"}
    assert names == ({"init_forward_metadata"} if version == "0.5.11" else late)
