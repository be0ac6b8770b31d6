"""The words in which an author states a patch.

In: templates and names from a ``codemod.py``. Out: rules made of a scope, an edit, the defect it cures, and goals.
Invariants: every value is immutable and can be constructed without a file at hand; each one answers for itself
whether it holds in a scope; nothing here writes.
"""
