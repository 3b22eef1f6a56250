"""Decides on one review: denies, warns or sets defaults, and says why."""
