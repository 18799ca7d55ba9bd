"""Files and names beside the machine: the BIOS as its controller tells it, and what a name on the command line may mean."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput, BadValue, did_you_mean

if TYPE_CHECKING:
    from advisor.model.bios import Bios
    from advisor.model.machine import Machine
    from advisor.model.measurement import Measurements

_LARGEST = 4 << 20


def bios_from(files: Iterable[Path]) -> "Bios | None":
    """Return the BIOS that --bios gives: the present attributes, and from a second file those that wait for the next boot."""
    from advisor.collect.redfish_bios import parse_bios, with_pending

    paths = tuple(files)
    if len(paths) > 2:
        raise BadInput(f"--bios is given {len(paths)} times", cure="give the Bios resource, and then its Settings")
    read = [parse_bios(_text(path), str(path)) for path in paths]
    if not read:
        return None
    return with_pending(read[0], read[1]) if len(read) == 2 else read[0]


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
