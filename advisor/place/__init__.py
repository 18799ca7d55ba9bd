"""Turns a JobShape and Machines into a Placement: who sits where, and why. Pure."""
