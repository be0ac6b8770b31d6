"""Git: releases in the bare store, and the user's repository.

In: commit ids, paths in the git layout, and `PatchCommit`s. Out: bytes, blob ids, new commits.
`plumbing` runs git in a sealed environment, where no configuration of the user counts. `checkout` and `repository`
run it in the user's repository with the user's configuration, but never a hook or another program named there.
The same base and patches give the same commit ids on every machine. Only `committing` imports GitPython.
"""
