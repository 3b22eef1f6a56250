"""What the webhook answers when an object is applied."""
