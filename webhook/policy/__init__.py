"""The policy: parsed and checked, and what of it is in force for one Pod."""
