"""What an author states a patch with.

In: templates and names from a ``codemod.py``. Out: rules, each made of a scope, an edit, the defect that it fixes and
goals; every part can evaluate itself on an analysed scope.
Invariants: every part is immutable and can be constructed without a file; ``violation`` returns None for an accepted
match or scope, else the reason; nothing here writes.
"""
