"""Keep a fork of a fast-moving Python upstream alive, with proof."""

__version__ = "0.1.0"

DISTRIBUTION = "sglang-patchtool"
"""The name that the tool is published under."""
