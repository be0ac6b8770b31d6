"""Text patches: diffs that are carried from the release that they were made for to another one."""
