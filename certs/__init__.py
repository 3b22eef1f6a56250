"""TLS: a certificate authority, the certificates it issues, and the files they lie in."""
