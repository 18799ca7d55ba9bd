"""What must never come out, planted wherever it can stand, and every output that could give it away."""
