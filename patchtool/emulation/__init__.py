"""Stand-ins for NPU-only packages, CPU references for the kernels that are called, and the rig that drives upstream.

Everything here runs inside a cell's own process. Nothing here imports upstream at its top level, so that
``install.activate`` comes first.
"""
