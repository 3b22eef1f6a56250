"""What the commands print, byte for byte, over the examples and ten clusters made at random, against what was recorded."""
