"""The objects that go into a cluster, as plain JSON: webhook configurations, their conditions, RBAC."""
