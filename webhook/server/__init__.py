"""The webhook server: answers reviews, reloads files, and reports metrics and logs."""
