"""All input and output: processes, git, files, package indexes and the user's folders.

In: paths, releases and rendered patches. Out: domain values and bytes. Nothing is printed and no patch is judged here.
What a user, an index or an archive provides is data: it is checked before it is used and never executed.
Files change as a whole or not at all; a killed run is finished or rolled back by the next one.
"""
