"""What a command line prints: the page, the JSON document, or the one line with which it refuses."""

import json
from typing import Any

import pytest

from advisor.cli.main import status

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, *words: object) -> str:
    """Return what a command line prints that ends well."""
    code, said = status([str(word) for word in words]), capsys.readouterr()
    assert code == 0, said.err
    return said.out


def document(capsys: Capture, *words: object) -> dict[str, Any]:
    """Return the JSON document that a command line prints; its words say --json."""
    found: dict[str, Any] = json.loads(printed(capsys, *words))
    return found


def refused(capsys: Capture, *words: object) -> str:
    """Return the one line with which a command line refuses, and prints nothing else."""
    assert status([str(word) for word in words]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    return said.err
