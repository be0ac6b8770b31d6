"""The local store: artifacts of a release, checked and imported as one git commit."""
