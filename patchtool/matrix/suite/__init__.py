"""Tests that belong to no single patch: states are equal however they were computed, and speculation is lossless."""
