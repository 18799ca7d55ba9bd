"""Lets `python -m advisor` be `advisor`."""

from advisor.cli.main import main

main()
