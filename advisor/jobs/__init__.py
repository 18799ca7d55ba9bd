"""Carries a Placement out: command line, environment, files for each launcher and version. Pure; launchers is the registry."""
