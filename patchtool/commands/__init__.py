"""One verb per file: each puts adapters and patches together and gives a Report; none prints."""
