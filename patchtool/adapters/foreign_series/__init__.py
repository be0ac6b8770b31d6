"""Readers of series that were made without this tool."""
