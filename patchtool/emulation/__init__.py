"""Running a release's own Ascend backends and Scheduler on a CPU.

In: the folder of a release's tree, and for each run an overlay of changed files and a test function.
Out: outcome, detail and recorded numbers of the test, and the stub attributes that upstream looked up.
Invariants: nothing here knows patches; everything runs in a process of its own, where `install` precedes any import of
upstream; what a release has is found by looking, never by version; calling an operator without a reference is an error.
"""

from patchtool.domain.package import Package

PACKAGE = Package("sglang", "python/", "sglang")
"""The upstream that can be emulated."""
FULL_PRECISION = {"SGLANG_MAMBA_CONV_DTYPE": "float32", "SGLANG_MAMBA_SSM_DTYPE": "float32"}
"""Variables with which upstream keeps states in full precision, which exact comparisons need."""
