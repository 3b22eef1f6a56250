"""Checks manifests in files and reports findings by line."""
