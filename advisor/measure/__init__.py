"""Builds the kernels, plans what to measure on a machine, runs it, and says what is to be believed."""
