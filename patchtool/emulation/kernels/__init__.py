"""CPU references for the NPU operators that upstream calls.

In: tensors in the layouts that the operators take on the device. Out: results and in-place writes like the device's.
Invariants: written from the operators' contracts, one token at a time; nothing of upstream is imported; arguments that
no reference covers raise ValueError; rows run in order, where the device runs them side by side.
"""
