"""The objects to apply to a cluster, as plain JSON: webhook configurations, RBAC, and admission policies."""
