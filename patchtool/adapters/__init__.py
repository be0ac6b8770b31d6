"""All input and output: processes, git, files, upstreams."""
