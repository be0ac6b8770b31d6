"""Finding code that a template describes.

In: a parsed scope and a template. Out: matches with what each hole stands for, either as the code is spelled or by
what its local names stand for.
Invariants: layout, comments, quotes and keyword order never matter; one hole stands for equal code everywhere; a
value that cannot be followed equals nothing else. Knows nothing of patches or states.
"""
