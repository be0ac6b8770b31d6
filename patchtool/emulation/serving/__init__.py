"""The release's own Scheduler with prefix cache, speculative worker and graph runner, in this process.

In: prompts by request name, and for a speculative server the tokens to propose as drafts.
Out: each request's tokens and how many tokens of its prompt were cached.
Invariants: the tiny model's weights come from a fixed seed; requests and results bypass the Scheduler's sockets; a
release whose interfaces are unknown raises UnsupportedReleaseError, which skips the test.
"""
