"""The cluster that the webhook watches, and what it writes there: the caBundle, and the Secret of its certificate."""
