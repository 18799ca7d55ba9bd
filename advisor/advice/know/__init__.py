"""Loads platform, vendor and setting sheets, and finds those that fit a machine."""
