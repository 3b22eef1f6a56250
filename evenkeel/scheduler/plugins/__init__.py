"""Plugins of kube-scheduler's default profile, one per file: what each says of the nodes for one Pod."""
