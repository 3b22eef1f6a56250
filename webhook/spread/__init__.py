"""Constraints, selectors and domains: what spreading is, and which constraints are in force."""
