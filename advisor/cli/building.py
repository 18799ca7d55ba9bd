"""Builds all kernels into a folder, for nodes without a compiler."""

import os
import sys
from pathlib import Path

from advisor.errors import CannotWork
from advisor.host.live import LiveHost
from advisor.measure.build import Recipe, build, find_compiler, flags_for, kernel_names
from advisor.model.hardware.machine import Machine
from advisor.paths import kernels


def build_all(march: str | None, folder: Path) -> None:
    """Build every kernel that needs no MPI into a folder, for this processor or another of this architecture."""
    host, sources = LiveHost(), kernels()
    recipe = Recipe(
        sources, find_compiler(host, os.environ.get("CC")), flags_for(Machine(architecture=os.uname().machine), march)
    )
    names = kernel_names(sources)
    if not names:
        raise CannotWork(f"{sources}: there are no kernels; install advisor again, this copy is not whole")
    for name in names:
        sys.stderr.write(f"advisor: building {name} for {march or 'this processor'} into {folder}\n")
        build(host, recipe, name, folder / name)
