"""Finding code that a template describes.

In: a resolved scope and a template. Out: matches with their hole bindings, found as the code is written, or by value,
with every local name replaced by the expression that it holds.
Invariants: layout, comments, quotes and keyword order never matter; a hole stands for equal code wherever it occurs;
a value that cannot be followed equals no other. Knows nothing of patches or states.
"""
