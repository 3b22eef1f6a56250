"""The source of snapshots: a watched cluster, a dump of one, or none."""
