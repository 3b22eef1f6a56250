"""The policy: its model, and how it is parsed and checked."""
