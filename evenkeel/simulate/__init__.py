"""What happens next: how Pods would lie after a scale, a rollout, a drain or a lost zone, run many times."""
