"""`make run`: the webhook with an example cluster, and three reviews."""
