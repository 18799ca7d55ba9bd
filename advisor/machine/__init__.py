"""One machine: its parts, what its firmware says, and what is inferred of how it is set."""
