"""Builds the kernels that need no MPI, as their Makefile does, and runs them on this machine."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from advisor.measure.build import Compiler, Recipe
from advisor.paths import kernels

LIMIT = 120
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread")
CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="two CPUs are needed")


@cache
def _workshop() -> Path:
    return Path(tempfile.mkdtemp(prefix="advisor-kernels-"))


@cache
def built(kernel: str, *flags: str, compiler: str = "cc") -> str:
    """Return a kernel's program, built without a warning; skips where the compiler is not here."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = _workshop() / "-".join((compiler, kernel, *(flag.strip("-") for flag in flags)))
    recipe = Recipe(kernels(), Compiler((compiler,), ""), (*STRICT, "-O2", *flags))
    done = subprocess.run(recipe.argv(kernel, program), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return str(program)


def run(
    kernel: str, *arguments: str, flags: tuple[str, ...] = (), under: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a kernel, perhaps under another program."""
    argv = [*under, built(kernel, *flags), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)


def results(kernel: str, *arguments: str) -> list[dict[str, Any]]:
    """Return what a kernel that ends well says."""
    return good(run(kernel, *arguments))


def good(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Return the results of a run, which ended well and complained of nothing."""
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@dataclass(frozen=True)
class Quick:
    """A kernel with arguments that make it quick, on the first CPU that we may use unless told otherwise."""

    kernel: str
    always: tuple[str, ...]

    def built(self, compiler: str, *flags: str) -> str:
        """Return its program, compiled quickly too."""
        return built(self.kernel, "-O1", *flags, compiler=compiler)

    def run(self, *words: str, program: str = "", under: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Return what it said, perhaps under another program."""
        where = () if "--cpus" in words else ("--cpus", str(CPUS[0]))
        line = [*under, program or self.built("cc"), *self.always, *where, *words]
        return subprocess.run(line, capture_output=True, text=True, check=False, timeout=LIMIT)

    def lines(self, *words: str, program: str = "", under: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """Return the results of a run that was good."""
        return good(self.run(*words, program=program, under=under))
