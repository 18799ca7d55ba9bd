"""Job scripts as people have them: read whole, never run."""
