"""HTTP and TLS on gunicorn: connections, limits and memory; independent of Kubernetes and of the other folders."""
