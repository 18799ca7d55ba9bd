"""Draws many nodes: one screen, one page."""
