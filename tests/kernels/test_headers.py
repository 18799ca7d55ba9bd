"""The kernels' source: each header can be read, and compiled, by itself."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.paths import kernels

FOREIGN = {"x86_64": ("neon.h",), "aarch64": ("avx2.h", "avx512.h", "sse4.h")}.get(platform.machine(), ())
HEADERS = [path.relative_to(kernels()) for path in sorted(kernels().rglob("*.h")) if path.name not in FOREIGN]
UNUSED = [f"-Wno-unused-{what}" for what in ("function", "variable", "const-variable")]


def needs_mpi(header: Path) -> bool:
    """Return whether a header, or one that it includes, is for the MPI kernels."""
    text = (kernels() / header).read_text(encoding="utf-8")
    beside = [(header.parent / name) for name in re.findall(r'#include "(.+\.h)"', text)]
    return "<mpi.h>" in text or any(needs_mpi(each) for each in beside)


@pytest.mark.slow
@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_each_header_stands_alone(header: Path) -> None:
    """Whoever reads one needs no other before it: it includes what it uses."""
    compiler = "mpicc" if needs_mpi(header) else "cc"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    line = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *UNUSED, "-fsyntax-only", "-x", "c", str(kernels() / header)]
    assert subprocess.run(line, capture_output=True, text=True, check=False).stderr == ""
