"""`make bench-peers`: evenkeel beside other admission webhooks and a linter, which are built from their Go modules."""
