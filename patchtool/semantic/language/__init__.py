"""Reading one Python file: source text, scopes and names.

In: the bytes of a file. Out: its text and stdlib syntax tree, the scope that a qualified name resolves to, and what
names stand for at module level and inside a function.
Invariants: a parsed file is never changed here, LibCST is never imported, and a name that may stand for more than one
thing is reported as a problem, never guessed. Knows nothing of templates or patches.
"""
