"""What several verbs share: the session, acquiring releases, rendering the series, comparing it with the lock."""
