"""Measurements in tables, on a terminal."""
