"""Running cells in worker processes, on this machine or on a Ray cluster, and caching their results.

In: cells, and the trees of their releases.
Out: one result for every cell, in no particular order, as soon as it is known.
Invariants: every cell is answered exactly once, also when its process or its node dies; no process outlives the run;
cached results are found by the content of everything that decides them, and results of real NPUs are never cached.
"""
