"""Where a Pod may run and why, and what would let it in, by the scheduler's own arithmetic: pure."""
