"""Kubernetes objects as values, where the command-line tools read more of them than the webhook does."""
