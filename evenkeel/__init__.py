"""What a person runs: the command-line tools, and kube-scheduler's arithmetic under them."""
