"""Transforms a Machine as its firmware would: another cut, another order of the cores, SMT on or off. Pure."""
