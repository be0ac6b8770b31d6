"""The project folder: pin, series, patch metadata and lock."""
