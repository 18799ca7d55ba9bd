"""Audits HPC servers: what to set, why, and how that is known."""

__version__ = "0.1.0"
