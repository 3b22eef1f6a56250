"""What a person asks of a policy: checks, what is in force, and a scheduler's configuration."""
