"""Options, inputs, clusters and progress of the commands."""
