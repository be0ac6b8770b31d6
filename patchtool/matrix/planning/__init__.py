"""Which tests run on which trees, and what each of them has to show."""
