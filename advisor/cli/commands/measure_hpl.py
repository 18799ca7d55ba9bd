"""Measure HPL (Linpack) and compare it with the peak at base clock and under load.

Without --xhpl it runs the project's own HPL, built with the mpicc beside the launcher and the BLAS that is found:
pkg-config openblas or blis, -lopenblas, -lblis, -lblas, or --blas. --xhpl PATH runs another, with an HPL.dat of its own.
NB is the fastest of a short search, N takes about a minute in all, or with --full 85 % of the free memory; P x Q is as
square as possible. Ranks are placed as advisor bind does, and our own HPL reports where they really ran. The page names
the kernel that OpenBLAS chose, and warns where it does not use the widest instructions of this processor. --scaling makes
the table of articles [002] and [003]: 1, 2, 4, .. and all of the hosts, or of one host a NUMA node, a socket and all,
with as much of the matrix for each core; --n is N of the first of them.

Group: Look at a machine
Example: advisor measure hpl
Example: advisor measure hpl --full --ranks-per numa --save hpl.json
Example: advisor measure hpl --xhpl /opt/amd-hpl/xhpl --n 86400 --nb 232
Example: advisor measure hpl --hosts node[01-16] --scaling --save scaling.json
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.options import BusyOk, Json, MpiLauncher, NoColor, PageOrLines, Save, Steps, Version, Width

if TYPE_CHECKING:
    from advisor.cli.answers import Form
    from advisor.work.hpl_plan import HplJob

Hosts = Annotated[
    str | None, typer.Option("--hosts", metavar="A,B,..", help="Hosts like this one; otherwise the job's, or this one.")
]
Xhpl = Annotated[Path | None, typer.Option("--xhpl", metavar="PATH", help="Run this HPL: netlib's, AMD's, Intel's.")]
Quick = Annotated[bool, typer.Option("--quick", help="About a minute: the default.")]
Full = Annotated[bool, typer.Option("--full", help="N for 85 % of the free memory.")]
Order = Annotated[int | None, typer.Option("--n", metavar="N", min=1, max=10_000_000, help="Number of equations.")]
Block = Annotated[
    int | None, typer.Option("--nb", metavar="NB", min=1, max=4096, help="Block size; without a search for the fastest.")
]
PerPart = Annotated[
    str | None, typer.Option("--ranks-per", metavar="PART", help="One rank per core (the default), l3, numa, socket or node.")
]
Scaling = Annotated[bool, typer.Option("--scaling", help="Measure 1, 2, 4, .. hosts; of one host a NUMA node, a socket and all.")]
BlasFlag = Annotated[str | None, typer.Option("--blas", metavar="FLAGS", help="Link this BLAS: '-L/opt/blis/lib -lblis'.")]
Kernels = Annotated[
    Path | None, typer.Option("--kernels", metavar="DIR", help="Use the programs hpl and peakflops of this folder.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the command of the largest run, or of each of --scaling; run none.")
]


def run(
    *,
    hosts: Hosts = None,
    launcher: MpiLauncher = None,
    launcher_version: Version = None,
    xhpl: Xhpl = None,
    quick: Quick = False,
    full: Full = False,
    n: Order = None,
    nb: Block = None,
    ranks_per: PerPart = None,
    scaling: Scaling = False,
    blas: BlasFlag = None,
    kernels: Kernels = None,
    busy_ok: BusyOk = False,
    dry_run: DryRun = False,
    save: Save = None,
    verbose: Steps = False,
    json: Json = False,
    output: PageOrLines = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure HPL."""
    from advisor.cli.answers import Form
    from advisor.work.bind import LauncherOptions, per_part
    from advisor.work.hpl_plan import HplOptions, hpl_job
    from advisor.work.job.hosts import HostOptions
    from advisor.work.measure import must_be_alone

    must_be_alone({"--quick": quick, "--full": full, "--n": n is not None})
    must_be_alone({"--xhpl": xhpl is not None, "--blas": blas is not None, "--kernels": kernels is not None})
    ask = HplOptions(xhpl, full, n, nb, per_part(ranks_per), blas, kernels, busy_ok, verbose, scaling)
    made = hpl_job(HostOptions(hosts=hosts), LauncherOptions(launcher, launcher_version), ask, os.environ)
    return _answer(made, Form(output, json, width, not no_color), save, dry_run=dry_run)


def _answer(made: "HplJob", form: "Form", save: Path | None, *, dry_run: bool) -> int:
    """Print the lines, or measure and print what came of it."""
    from advisor.cli.answers import show_lines, show_measured
    from advisor.work.hpl import measure
    from advisor.work.hpl_plan import hpl_lines, scaling_runs

    runs = scaling_runs(made)
    if dry_run:
        return show_lines(*hpl_lines(runs), form)
    return show_measured(measure(made, runs), made.machine, made.notes, save, form)
