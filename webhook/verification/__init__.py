"""Whether kube-scheduler decides as is computed here, by what the API server says of both."""
