"""Reads a JSON document that somebody else wrote: bounded in size, values, digits and depth before it takes memory."""

import json
from collections.abc import Callable
from typing import Any

from advisor.errors import BadInput

LARGEST = 64 << 20
"""Bytes. An audit of 4,096 CPUs has 5 MiB, a plan of 500,000 ranks 60 MiB."""
ROOM = 48 << 20
"""Bytes that the values of a document may announce; an audit of 4,096 CPUs announces 19 MiB."""
_VALUE, _QUOTE = 64, 32
"""Bytes that each comma or bracket announces (an empty list, a pointer to it), and each quote (half a short text)."""
_DIGITS = 20
_NAMES = 10_000
"""Entries of one object; a BIOS with the most attributes has 2,000."""

Hook = Callable[[dict[str, Any]], Any]


def read_json(data: bytes, cure: str, *, room: int = ROOM, largest: int = LARGEST, hook: Hook = lambda each: each) -> Any:
    """Return what a document holds; raise BadInput naming the place where it holds none, or would fill the memory."""
    if len(data) > largest:
        raise BadInput(f"larger than {largest >> 20} MiB", cure="refused as unsafe")
    if sum(map(data.count, (b",", b"[", b"{"))) * _VALUE + data.count(b'"') * _QUOTE > room:
        raise BadInput("its values would fill the memory", cure="refused as unsafe")

    def checked(each: dict[str, Any]) -> Any:
        if len(each) > _NAMES:
            raise BadInput(f"an object of {len(each)} entries, more than {_NAMES}", cure="refused as unsafe")
        return hook(each)

    try:
        return json.loads(str(data, "utf-8"), parse_int=_whole, parse_constant=_no_number, object_hook=checked)
    except UnicodeDecodeError as error:
        raise BadInput("not text in UTF-8", place=f"byte {error.start}", cure=cure) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadInput("not well-formed JSON", place=place, cure=cure) from error
    except RecursionError as error:
        raise BadInput("lists inside of lists without end", cure=cure) from error
    except ValueError as error:
        raise BadInput(str(error)[:120], cure=cure) from error


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
