"""Stubs for NPU-only packages, CPU reference kernels, and the harness that drives upstream.

Everything here runs inside a cell's own process. Nothing here imports upstream at its top level, so that
``install.install_emulation`` comes first.
"""
