"""What a Kubernetes object holds: fields, labels, kinds, names, references and workloads."""
