"""What `evenkeel example` shows: a small cluster, and three reviews as kube-apiserver sends them."""
