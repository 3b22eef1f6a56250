"""Kubernetes objects as frozen values, YAML and JSON text, and what differs between versions."""
