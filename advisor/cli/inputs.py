"""Files and names beside the machine: the BIOS as its controller tells it, and what a name on the command line may mean."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from advisor.errors import BadInput, BadValue, did_you_mean

if TYPE_CHECKING:
    from advisor.model.bios import Bios
    from advisor.model.machine import Machine
    from advisor.model.measurement import Measurements
    from advisor.model.registry import Registry

_LARGEST = 4 << 20
_MOST_BIOS = 3
"""A resource, its settings and its registry."""


class Given(NamedTuple):
    """What --bios gives: the BIOS as it is, and the registry that explains it."""

    bios: "Bios | None" = None
    registry: "Registry | None" = None


def firmware_from(files: Iterable[Path]) -> Given:
    """Return what --bios gives: the present attributes, those that wait for the next boot, and an attribute registry."""
    from advisor.collect.bios_registry import parse_either, with_other_names
    from advisor.collect.redfish_bios import with_pending
    from advisor.model.registry import Registry

    paths = tuple(files)
    if len(paths) > _MOST_BIOS:
        raise _too_many(paths)
    read = [parse_either(_text(path), str(path)) for path in paths]
    registries = [each for each in read if isinstance(each, Registry)]
    found = [each for each in read if not isinstance(each, Registry)]
    if len(found) > 2 or len(registries) > 1:
        raise _too_many(paths)
    bios = with_pending(found[0], found[1]) if len(found) == 2 else found[0] if found else None
    registry = registries[0] if registries else None
    return Given(with_other_names(bios, registry) if bios and registry else bios, registry)


def _too_many(paths: Sequence[Path]) -> BadInput:
    cure = "give the Bios resource, then its Settings, and its attribute registry"
    return BadInput(f"--bios is given {len(paths)} times", cure=cure)


def measurements_from(files: Sequence[Path] | None, machine: "Machine") -> "Measurements | None":
    """Return the measurements of files together; those of another machine, or of this one cut in another way, are refused."""
    if not files:
        return None
    from advisor.cli.measuring import of_machine, saved

    return of_machine(saved(files), machine, str(files[0]))


def _text(path: Path) -> str:
    from advisor.host.files import open_here

    try:
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise BadInput("larger than any Bios resource", file=str(path), cure="save the answer of GET .../Bios unchanged")
        with open_here(path) as file:
            return str(file.read(), "utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("not text in UTF-8", file=str(path), cure="save the answer of GET .../Bios unchanged") from error
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(path)) from error


def must_be_one_of(what: str, name: str, known: Iterable[str], cure: str) -> str:
    """Return the name; refuse one that is not known, naming the nearest."""
    names = tuple(dict.fromkeys(known))
    if name in names:
        return name
    raise BadValue(f"there is no {what} {name[:64]}", cure=did_you_mean(name, names, cure))
