"""The release's own Scheduler, prefix cache, speculative worker and graph runner, in this process."""
