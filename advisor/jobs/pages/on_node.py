"""Fills the scripts that go to nodes: what is put in is quoted where it is made, or has nothing in it that a shell would read."""

import re
from collections.abc import Mapping


def on_node_script(template: str, script: str, mark: str) -> str:
    """Return what runs a script on another node and prints the file that it writes; ``mark`` is one word that it has nowhere."""
    return measure_script(template, {"mark": re.sub(r"[^\w-]", "_", mark), "script": script.rstrip("\n")})


def measure_script(template: str, values: Mapping[str, object]) -> str:
    """Return what runs kernels on another node; ``values`` are what advisor/measure/on_node.py makes, quoted there."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - a shell script
    return environment.from_string(template).render(values)
