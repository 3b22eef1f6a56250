"""The webhook: bytes to an answer, what is read again when it changes, metrics, logs, and the whole put together."""
