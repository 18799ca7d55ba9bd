"""Reads the lines of Open MPI 5 back: as written here they are those of 4 in other words."""

from tests.jobs.readers.openmpi4 import parse

__all__ = ["parse"]
