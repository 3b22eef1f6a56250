"""Parts of Kubernetes objects: fields, labels, kinds, names, references and workloads."""
