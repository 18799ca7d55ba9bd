"""Lines written here are read back by a second, plain reader of each launcher, and must give the plan again."""

from collections.abc import Collection

from advisor.errors import BadValue


def options_before(words: list[str], known: Collection[str]) -> dict[str, str]:
    """Take options with a value each off the front of a line; refuse those that no line written here has."""
    options: dict[str, str] = {}
    while words and words[0].startswith("-"):
        if words[0] not in known:
            raise BadValue(f"{words[0]} is no option of a line written here")
        options[words[0]] = words[1]
        del words[:2]
    return options
