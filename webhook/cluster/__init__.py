"""Where the Snapshot comes from."""
