"""Spack's recipe; `make recipes` fills in the version and the checksum of dist/advisor.pyz and writes dist/recipes/spack."""

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class HpcAdvisor(Package):
    """Checks how HPC servers are configured (BIOS, operating system,
    launch lines), and shows the evidence."""

    homepage = "file:///usr/share/doc/advisor"
    # There is no download address: Spack looks in its mirrors and in the folder where it was started.
    manual_download = True
    url = f"file://{os.getcwd()}/advisor.pyz"

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@", url=url, expand=False)

    # The Python versions for which advisor.pyz has compiled parts; see docs/install.md.
    depends_on("python@3.11:3.14", type="run")
    depends_on("hwloc", type="run")

    def install(self, spec, prefix):
        """Put the file where programs are."""
        mkdirp(prefix.bin)
        install("advisor.pyz", join_path(prefix.bin, "advisor"))
        set_executable(join_path(prefix.bin, "advisor"))
