"""Tests against a real control plane: `make e2e`."""
