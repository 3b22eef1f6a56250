"""Where a Pod may run and why, and what would let it in; as text and JSON."""
