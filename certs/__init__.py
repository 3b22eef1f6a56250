"""A certificate authority, the certificates it issues, their renewal, and their files; imports nothing of webhook."""
