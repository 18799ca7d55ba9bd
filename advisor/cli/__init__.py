"""The command line: reads arguments, calls the rooms in order, prints, and sets the exit status."""

import os

# Before anything imports pydantic: looking for its plugins reads the metadata of every installed package.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
