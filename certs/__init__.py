"""A certificate authority, its certificates, their renewal and their files; independent of webhook."""
