"""Tests that belong to no single patch: states are equal however they came about, and speculation loses nothing."""
