"""Manifests judged before they reach a cluster: files in, findings at their lines out."""
