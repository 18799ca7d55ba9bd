"""Ranks: where they are placed, what launches them, and where they were seen."""
