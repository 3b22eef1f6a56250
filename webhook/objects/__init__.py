"""The ground floor: fields, labels, kinds, names and workloads, as they stand in a Kubernetes object."""
