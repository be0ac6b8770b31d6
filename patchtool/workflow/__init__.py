"""The steps that verbs are made of: session, releases, rendering, comparing with the lock, worktrees, commits, diffs.

In come the options of a run, out come values that a verb puts into its ``Report``. Nothing here prints or reads the
command line, no module imports a verb, and there are no import cycles.
"""
