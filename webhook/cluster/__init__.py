"""A cluster: read by watch, by list or from a dump; and what evenkeel writes to it, such as reports and its Secret."""
