"""One review in, one decision out: what is denied, warned of or given, and why."""
