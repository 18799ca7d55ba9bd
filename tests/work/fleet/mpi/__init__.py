"""Tests of what runs under MPI on the nodes of a fleet."""
