"""HTTP and TLS on gunicorn: connections, limits and memory; nothing of Kubernetes, and nothing of ours but itself."""
