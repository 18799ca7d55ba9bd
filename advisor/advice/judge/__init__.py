"""Turns a Case and rules into Findings. Pure, but for reading the rule files."""
