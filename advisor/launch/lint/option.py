"""What a table of options is."""

from collections.abc import Mapping

Table = Mapping[str, tuple[int, str]]
"""How many words follow an option, and what it means; {0} and {1} are those words."""
