"""``advisor bind lint -- mpirun ...``: explains an existing line on a machine; nothing is started."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput
from advisor.host.files import open_here

if TYPE_CHECKING:
    from advisor.model.hardware.machine import Machine

_LARGEST = 64 << 20
"""Bytes of a rankfile or a host file that are read: a million ranks are fewer."""

SLURM_CONF = Path("/etc/slurm/slurm.conf")
"""What Slurm reads on this machine by default."""


def run_lint(
    arguments: list[str],
    source: "str | Machine | None" = None,
    *,
    json: bool = False,
    version: str | None = None,
    slurm_conf: Path | None = None,
    live: bool = False,
    width: int | None = None,
    color: bool = True,
) -> int:
    """Print what a launch line does on a machine and what goes wrong; return 1 where something does, else 0.

    ``source`` is what --from names, None for this machine, or the machine itself; ``live``: that is this machine.
    """
    from advisor.launch.lint.lint import files_of, lint
    from advisor.render.binding.ranks import lint_document, lint_page
    from advisor.work.machine import emit, emit_json, load

    words = arguments[1:] if arguments[:1] == ["--"] else arguments
    names = files_of(words, version)
    machine = load(source) if source is None or isinstance(source, str) else source
    told = lint(words, machine, version=version, files=_texts(names) | _setup(slurm_conf, live=live or source is None))
    if json:
        emit_json(lint_document(told), None)
    else:
        emit([lint_page(told, width)], None, color=color, width=width)
    return 1 if told.warnings else 0


def _setup(file: Path | None, *, live: bool) -> dict[str, str]:
    """Return the text of the slurm.conf that --slurm-conf names, else that of this machine where it is the one that is read."""
    from advisor.launch.lint.slurm.slurm_conf import KEY

    if file is None:
        own = _texts([str(SLURM_CONF)]) if live else {}
        return dict.fromkeys((KEY,) if own else (), "".join(own.values()))
    found = _texts([str(file)])
    if not found:
        raise BadInput("there is no such file, or it cannot be read", file=str(file), cure="name the cluster's slurm.conf")
    return {KEY: found[str(file)]}


def _texts(names: Sequence[str]) -> dict[str, str]:
    """Return the files that a line names, those that are there and are plain texts."""
    found: dict[str, str] = {}
    for name in names:
        path = Path(name)
        try:
            if not path.is_file():
                continue
            with open_here(path) as file:
                data = file.read(_LARGEST + 1)
        except (OSError, ValueError):
            continue
        if len(data) > _LARGEST:
            raise BadInput(f"more than {_LARGEST >> 20} MiB", file=name, cure="refused as unsafe")
        found[name] = data.decode(errors="replace")
    return found
