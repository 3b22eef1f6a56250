"""Files on disk: which of them to read, and all of them judged."""
