"""The test matrix: which tests run on which patched trees, and whether the results prove the patches.

In: ``ci/matrix.toml``, tests with their ``@matrix_test``, the states of the series on each release, and its trees.
Out: a result and a verdict for every cell, and a proof for every patch.
Invariants: imports run one way, running -> (npu | static) -> verdict -> planning -> cell; planning never imports torch
or a test's file; upstream's code runs only in processes of its own; a cell that could not run never counts as passed.
"""
