"""From rules and evidence to one named state.

In: the rules of a patch and the parsed files. Out: a verdict per rule and the decision for the whole patch, with the
evidence, the nearest code and the reason.
Invariants: judging only reads; equal input gives an equal decision; anything that is not understood is a conflict.
"""
