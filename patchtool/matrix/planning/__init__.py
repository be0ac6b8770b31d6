"""Deciding which tests run on which trees, and what outcome each of them must have.

In: ``ci/matrix.toml``, test files, and the structural state of every patch on a release.
Out: cells, each with its expected outcome and its timeout, and notes on subsets that the release cannot have.
Invariants: test files are read, never imported; the same input gives the same cells with the same ids; a bad key or
value is an ``InputError`` with file and line; nothing is executed.
"""
