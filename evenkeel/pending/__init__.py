"""The Pods that wait in a cluster, by cause."""
