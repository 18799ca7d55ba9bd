"""Experiments with settings: planned, run over restarts from another host, judged, and taken back."""
