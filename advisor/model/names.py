"""Names that come from outside: of devices and hosts, which stand in lines that people copy into a shell."""

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

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
    raise PydanticCustomError("name", "{name} is no name of a device or a host", {"name": ascii(text[:40])})


DeviceName = Annotated[str, AfterValidator(_checked)]
"""A device as the kernel calls it: an adapter, an interface, a PCI address."""

HostName = Annotated[str, AfterValidator(_checked)]
"""A host as it calls itself."""
