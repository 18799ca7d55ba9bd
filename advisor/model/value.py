"""The base of every value that flows between rooms, and the names of devices and hosts, which come from outside."""

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError


class Value(BaseModel):
    """A frozen record; None means not known, () means looked for and not there."""

    # Schemas are built when first used: start-up is felt, and one command uses few of the values.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null", allow_inf_nan=False, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Stop at the first wrong item of a list: a hostile one of a million would have millions of errors in memory."""
        schema = handler(source)
        _stop_at_first(schema)
        return schema


class Whole(Value):
    """A record that comes from one source whole: halves of two topologies would be a machine that does not exist."""


def _stop_at_first(schema: Any) -> None:
    """Mark every list of a record's schema, but not those inside of other records, which have marked their own."""
    todo, inside = [schema], False
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if part.get("type") == "model":
                if inside:
                    continue
                inside = True
            if part.get("type") in ("list", "tuple", "set", "frozenset"):
                part["fail_fast"] = True
            todo += part.values()
        elif isinstance(part, (list, tuple)):
            todo += part


_FORM: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,254}", re.ASCII)
"""One word of any shell, no option and no path.

All that drivers and udev make is in it: mlx5_bond_0, enP2p1s0f0np0, ib0.8001, bond0:1, 10000:e1:00.0, x1000c0s0b0n0. The
kernel itself would let root call an interface otherwise (net/core/dev.c, dev_valid_name), and nobody does.
"""


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a device or a host.

    >>> [is_name(each) for each in ("mlx5_0", "ib0.8001", "bond0:1", "mlx5_0;touch x", "-rf", "..", "")]
    [True, True, True, False, False, False, False]
    """
    return _FORM.fullmatch(text) is not None


def _checked(text: Any) -> Any:
    if is_name(text):
        return text
    raise PydanticCustomError("name", "{name} is not a name of a device or a host", {"name": ascii(text[:40])})


DeviceName = Annotated[str, AfterValidator(_checked)]
"""A device as the kernel calls it: an adapter, an interface, a PCI address."""

HostName = Annotated[str, AfterValidator(_checked)]
"""A host as it calls itself."""
