"""The objects to apply to a cluster, as plain JSON: webhook configurations, their conditions, RBAC."""
