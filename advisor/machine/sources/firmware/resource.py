"""Reads the text of a management controller's resource: one JSON object, in which each name has one value."""

import json
from collections.abc import Sequence
from types import NoneType
from typing import Any, Final

from advisor.errors import BadCapture

_LARGEST: Final = 4 << 20
_LONGEST: Final = 200
_PLAIN: Final = (str, int, float, bool, NoneType)


def resource_of(text: str, file: str) -> dict[str, Any]:
    """Return a resource of a management controller: one JSON object."""
    if len(text) > _LARGEST:
        raise BadCapture(f"a Bios resource of {len(text)} letters", file=file, cure=f"at most {_LARGEST}")
    try:
        resource = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, file))
    except (ValueError, RecursionError) as error:
        place = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else None
        cure = "write it with advisor bios read --bmc HOST -o FILE"
        raise BadCapture("not JSON", file=file, place=place, cure=cure) from error
    if not isinstance(resource, dict):
        raise BadCapture("no Bios resource: an object is expected", file=file)
    return resource


def _object(pairs: Sequence[tuple[str, Any]], file: str) -> dict[str, Any]:
    """Return an object of JSON; refuse one that has two values for one name: two files in one, and neither is believed."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next((name for name, value in pairs if isinstance(value, _PLAIN) and value != found[name]), None)
        if twice is not None:
            raise BadCapture(f"{twice[:_LONGEST]!r} is there twice, with different values", file=file, cure="save it once more")
    return found
