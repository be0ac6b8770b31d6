"""Deciding a patch's state from its rules and the parsed files.

In: the rules of a patch and the parsed files. Out: a verdict per rule and one decision for the whole patch, with the
evidence, the nearest code where a site is missing, and the reason.
Invariants: judging only reads; equal input gives an equal decision; whatever does not match exactly is a conflict or
ambiguous, never applied.
"""
