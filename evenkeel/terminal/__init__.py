"""What commands share: inputs, colour, progress, and common forms of output."""
