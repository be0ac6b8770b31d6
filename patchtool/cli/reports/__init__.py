"""Reports as text, Markdown, JUnit XML and GitHub annotations."""
