"""Many nodes at once: kinds of hardware, who is wrong, who drifted, who is slow. Values in, a Fleet out."""
