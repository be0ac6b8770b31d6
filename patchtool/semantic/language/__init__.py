"""What one Python file says, before any patch is looked at.

In: the bytes of a file. Out: its text and stdlib syntax tree, the definition that a qualified name leads to, and
what names mean at module level and inside a function.
Invariants: nothing here is changed after parsing, nothing of LibCST is imported, and a name whose meaning is not
certain is reported as a problem, never guessed. Knows nothing of templates or patches.
"""
