"""What the commands print, byte for byte, over the examples and ten random clusters, against recordings."""
