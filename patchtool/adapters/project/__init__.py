"""The project folder: pin, series, the patches' metadata, lock and changelog.

In: the folder, or a folder inside it. Out: a `Project` whose parts are read when they are first used.
Every mistake in a file is an `InputError` with file and line. Files that belong together are written in one
transaction. The project of another user is refused, because a series is code.
"""
