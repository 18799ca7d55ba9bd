"""Carries a Placement out: command line, environment, files for each launcher and version. Pure; the folder is the registry."""
