"""Drafting a patch from a change, as a start for its author.

In: files before and after a change. Out: a codemod, the files it creates, a case, and what could not be stated.
Invariants: every rule of a draft was judged and written by the engine; what it does not produce is listed.
"""
