"""Writes docs/reference/ from the code: facts, sources, commands, and the schema of the Machine JSON.

Run by `make docs`; a test says when a page is stale.
"""

import json
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from advisor.cli import folder
from advisor.collect.gather import sources
from advisor.model.machine import Machine
from advisor.model.value import Value

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by `make docs`; do not edit. -->\n\n"


def pages() -> dict[str, str]:
    """Return every generated page by file name."""
    return {"facts.md": facts(), "sources.md": source_pages(), "commands.md": commands(), "machine.schema.json": schema()}


def schema() -> str:
    """Return the JSON schema of a Machine."""
    return json.dumps(Machine.model_json_schema(mode="serialization"), indent=1) + "\n"


def facts() -> str:
    """Return the page of all facts a Machine may hold, by dotted name."""
    rows = "".join(f"| `{name}` | {kind} | {text} |\n" for name, kind, text in _fields(Machine, ""))
    head = "# Facts\n\nEvery fact of a Machine. A fact that is not known is null.\n\n| fact | type | meaning |\n| --- | --- | --- |\n"
    return f"{NOTE}{head}{rows}"


def source_pages() -> str:
    """Return the page of the sources: what each reads and runs."""
    parts = [f"{NOTE}# Sources\n\nEach source yields part of the Machine; a lower rank is believed first.\n"]
    for source in sources():
        doc = (import_module(f"advisor.collect.{source.name}").__doc__ or "").strip().splitlines()[0]
        reads = "".join(f"    {path}\n" for path in source.paths)
        runs = "".join(f"    $ {' '.join(command)}\n" for command in source.commands)
        parts.append(f"\n## {source.name} (rank {source.rank})\n\n{doc}\n\n{reads}{runs}")
    return "".join(parts)


def commands() -> str:
    """Return the page of the commands, from their own help."""
    parts = [f"{NOTE}# Commands\n"]
    for name, about in folder.commands().items():
        examples = "".join(f"    $ {example}\n" for example in about.examples)
        parts.append(f"\n## advisor {name}\n\n{about.text}\n\n{examples}")
    return "".join(parts)


def _fields(model: type[Value], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        inner, many = _inner(field.annotation)
        dotted = f"{prefix}{name}{'[]' if many else ''}"
        if isinstance(inner, type) and issubclass(inner, Value):
            doc = (inner.__doc__ or "").strip().splitlines()[0]
            yield dotted, inner.__name__, field.description or doc
            yield from _fields(inner, f"{dotted}.")
        else:
            yield dotted, _name(inner), field.description or ""


def _inner(annotation: Any) -> tuple[Any, bool]:
    """Return what stands in ``X | None`` or ``tuple[X, ...]``, and whether there may be several."""
    many = False
    while True:
        origin, args = get_origin(annotation), get_args(annotation)
        if origin in (Union, types.UnionType):
            annotation = next(arg for arg in args if arg is not type(None))
        elif origin is tuple and len(args) == 2 and args[1] is Ellipsis:
            annotation, many = args[0], True
        else:
            return annotation, many


def _name(annotation: Any) -> str:
    return (
        annotation.__name__
        if isinstance(annotation, type) and not get_args(annotation)
        else str(annotation).replace("typing.", "")
    )


def main() -> int:
    """Write the pages and return 0."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
