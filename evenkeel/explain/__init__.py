"""What `evenkeel explain` prints: text and JSON of where a Pod can run, why, and which changes would let it in."""
