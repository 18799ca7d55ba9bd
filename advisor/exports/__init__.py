"""What other programs read of one machine or of a fleet; the one place that joins all that an export is made of."""
