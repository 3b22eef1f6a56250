"""The Kubernetes objects that send reviews to evenkeel and let it look at the cluster, as plain JSON."""
