"""The catalogues of rules and of operators' kinds."""
