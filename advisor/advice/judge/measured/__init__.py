"""Turns measurements into the facts that rules may ask for."""
