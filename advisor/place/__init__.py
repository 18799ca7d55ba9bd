"""Turns a JobShape and Machines into a Placement: which CPUs each rank gets, and why. Pure."""
