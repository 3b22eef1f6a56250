"""What a policy would do to a cluster, and how its workloads are spread; as text, JSON, a page and metrics."""
