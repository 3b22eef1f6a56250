"""Kubernetes objects as values, of which only the tools read more than the webhook does."""
