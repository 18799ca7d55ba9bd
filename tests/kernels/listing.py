"""What the program of a kernel says of itself, held against the header comment of its source."""

import json
from typing import Any

from pydantic import ValidationError

from advisor.errors import BadInput
from advisor.measure.measurement import KernelSheet


def listed(name: str, data: bytes) -> KernelSheet:
    """Return what a program printed for ``--list``, which is as untrusted as any file."""
    try:
        document: Any = json.loads(data)
        return KernelSheet.model_validate({key: document[key] for key in ("summary", "arguments", "variants")} | {"name": name})
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        raise BadInput(f"kernel {name}: --list prints what is not a list of it") from error


def disagreement(header: KernelSheet, listing: KernelSheet) -> str | None:
    """Return in words the first thing in which a header comment and a ``--list`` differ; None where they say the same."""
    if header.summary != listing.summary:
        return f"its header comment calls it {header.summary[:60]!r}, its --list {listing.summary[:60]!r}"
    names = [tuple(each.name for each in sheet.variants) for sheet in (header, listing)]
    for what, here, there in (("argument", header.arguments, listing.arguments), ("variant", *names)):
        for own, other, place in ((here, there, "--list"), (there, here, "header comment")):
            missing = next((each for each in own if each not in other), None)
            if missing is not None:
                return f"its {place} lacks the {what} {missing[:60]}"
    for each in header.variants:
        theirs = listing.variant(each.name)
        for key, value in each.model_dump().items():
            if value != (other_value := getattr(theirs, key)):
                one, two = ("-" if word is None else str(word)[:60] for word in (value, other_value))
                return f"{key} of {each.name} is {one} in its header comment and {two} in its --list"
    return None
