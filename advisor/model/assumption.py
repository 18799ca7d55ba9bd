"""What somebody wants to try: settings of the firmware as they would be after a restart."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import Field

from advisor.errors import BadValue
from advisor.model.value import Value

Enumeration = Literal["linear", "round-robin"]
Interleave = Literal["channel", "die", "socket"]


class Assumption(Value):
    """Firmware settings taken as given; None leaves a setting as it is."""

    nps: Literal[0, 1, 2, 4] | None = Field(default=None, description="NUMA nodes per socket of EPYC 7002 and later")
    l3_as_node: bool | None = Field(default=None, description="whether each L3 group is a NUMA node (EPYC 7002 and later)")
    interleave: Interleave | None = Field(default=None, description="memory interleaving of EPYC 7001")
    snc: Literal[1, 2, 3, 4, 6] | None = Field(default=None, description="sub-NUMA clusters of a socket; 1 is off")
    cod: bool | None = Field(default=None, description="whether cluster on die is on (Haswell, Broadwell)")
    smt: bool | None = Field(default=None, description="whether cores show their second thread")
    enumeration: Enumeration | None = Field(default=None, description="the order in which the firmware lists the cores")

    @property
    def text(self) -> str:
        """The assumption as ``parse`` reads it: ``nps=4,smt=off``."""
        told = ((name, getattr(self, name)) for name in type(self).model_fields)
        return ",".join(f"{name.replace('_', '-')}={_word(name, value)}" for name, value in told if value is not None)


def parse_assumption(texts: Iterable[str]) -> Assumption:
    """Return what texts such as ``nps=4,smt=off`` ask for.

    >>> parse_assumption(["nps=4,smt=off", "enumeration=linear"]).text
    'nps=4,smt=off,enumeration=linear'
    """
    wanted: dict[str, Any] = {}
    for word in (part.strip() for text in texts for part in text.split(",")):
        if not word:
            continue
        name, equals, value = (part.strip() for part in word.lower().partition("="))
        key = _key(name)
        if not equals or not value:
            raise BadValue(f"{word[:40]!r} assumes nothing", cure=f"write {name[:40]}={'|'.join(_VALUES[key])}")
        if value not in _VALUES[key]:
            raise BadValue(f"{name} cannot be {value[:40]!r}", cure=f"it is one of {', '.join(_VALUES[key])}")
        meaning = _VALUES[key][value]
        if wanted.setdefault(key, meaning) != meaning:
            raise BadValue(f"{name} is assumed to be two things", cure="give each setting once")
    return Assumption(**wanted)


_SWITCH: dict[str, Any] = {"on": True, "off": False}
_VALUES: dict[str, dict[str, Any]] = {
    "nps": {"1": 1, "2": 2, "4": 4, "0": 0},
    "l3_as_node": _SWITCH,
    "interleave": {"channel": "channel", "die": "die", "socket": "socket"},
    "snc": {"off": 1, "2": 2, "3": 3, "4": 4, "6": 6},
    "cod": _SWITCH,
    "smt": _SWITCH,
    "enumeration": {"linear": "linear", "round-robin": "round-robin"},
}
"""What may be written for each setting, and what it means."""


def _key(name: str) -> str:
    key = name.replace("-", "_")
    if key in _VALUES:
        return key
    near = get_close_matches(key, _VALUES, n=1, cutoff=0.5)
    shown = ", ".join(key.replace("_", "-") for key in _VALUES)
    cure = f"did you mean {near[0].replace('_', '-')}?" if near else f"there are {shown}"
    raise BadValue(f"{name[:40]!r} is nothing that can be assumed", cure=cure)


def _word(name: str, value: object) -> str:
    return next(word for word, meaning in _VALUES[name].items() if meaning == value and type(meaning) is type(value))
