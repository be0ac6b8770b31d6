"""The survey's baseline: a pool of the same size and imports that only parses each distinct target blob once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import libcst
import tomllib

import patchtool.semantic.kind
import patchtool.semantic.writing.write  # noqa: F401 -- the same imports as the survey's


def blobs(store: str, patches: str) -> list[str]:
    """Ids of every distinct target on every release in the store."""
    targets = {t for p in Path(patches).glob("*/patch.toml") for t in tomllib.loads(p.read_text())["targets"]}
    git = ["git", "--git-dir", store]
    refs = subprocess.run(
        [*git, "for-each-ref", "--format=%(objectname)", "refs/distributions/sglang/python/sglang/releases"],
        capture_output=True,
        check=True,
    )
    wanted = "".join(f"{commit}:{path}\n" for commit in refs.stdout.decode().split() for path in sorted(targets))
    told = subprocess.run([*git, "cat-file", "--batch-check"], input=wanted.encode(), capture_output=True, check=True)
    return sorted({line.split()[0] for line in told.stdout.decode().splitlines() if line.endswith(tuple("0123456789"))})


def parse(store: str, blob: str) -> int:
    """Parse one blob."""
    data = subprocess.run(["git", "--git-dir", store, "cat-file", "blob", blob], capture_output=True, check=True).stdout
    return len(libcst.parse_module(data).body)


if __name__ == "__main__":
    store, patches = sys.argv[1:]
    ids = blobs(store, patches)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        print(len(ids), sum(pool.map(parse, [store] * len(ids), ids)))
