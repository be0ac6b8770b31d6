"""Running cells: worker processes, executors, and results cached by content."""
