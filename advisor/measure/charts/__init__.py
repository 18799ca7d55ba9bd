"""Measurements as charts, by matplotlib."""
