"""Values, states, errors and protocols that all packages share; no input or output."""
