"""The local store of releases, one commit each in a bare git repository, and what is cached beside it.

In: wheels and source archives with their expected hashes. Out: `CommitTree`s, records of what was imported, folders
with a release's files, and cached judgements. A release's commit id depends on the content of its files only.
Nothing enters before its hash is verified and every member's path is checked; nothing is unpacked or executed.
Only a complete import is visible. A cache entry that is damaged is a miss.
"""
