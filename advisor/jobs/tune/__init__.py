"""Turns times of candidates into what to run next and what is proven: races of launch lines. Pure: no clock, no host."""
