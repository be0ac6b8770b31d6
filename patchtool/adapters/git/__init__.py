"""Git: the bare store by plumbing commands, a person's repository by GitPython."""
