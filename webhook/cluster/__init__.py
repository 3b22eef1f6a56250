"""Where a snapshot comes from: a cluster that is watched, a dump of one, or none."""
