"""From verdicts to new bytes.

In: rules that are to be applied and their files. Out: the files' new bytes, written by LibCST.
Invariants: bytes outside the edited statements stay as they were; the written file is parsed again and must mean
exactly what the patch says, or nothing is written.
"""
