"""Lets `python -m advisor` be `advisor`."""

from advisor.start import main

main()
