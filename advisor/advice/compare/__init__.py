"""Compares two machines, or two audits. Pure."""
