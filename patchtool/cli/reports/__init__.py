"""Formats of reports: text, Markdown, JUnit XML, GitHub annotations."""
