"""Measure HPL (Linpack) and say how near it comes to the peaks: at base clock, and under load.

Without --xhpl it runs the project's own HPL, built with the mpicc beside the launcher and the BLAS that is found:
pkg-config openblas or blis, -lopenblas, -lblis, -lblas, or --blas. --xhpl PATH runs another, with an HPL.dat of its own.
NB is the fastest of a short search, N what takes about a minute in all, or with --full 85 % of the free memory; P x Q is
as square as can be. Ranks sit as advisor bind puts them, and our own say where they really were. The page names the kernel
that OpenBLAS took, and says so where it has not the widest instructions of this processor.

Group: Look at a machine
Example: advisor measure hpl
Example: advisor measure hpl --full --ranks-per numa --save hpl.json
Example: advisor measure hpl --xhpl /opt/amd-hpl/xhpl --n 86400 --nb 232
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import BusyOk, Json, MpiLauncher, NoColor, PageOrLines, Save, Steps, Version, Width

Hosts = Annotated[str | None, typer.Option("--hosts", metavar="A,B,..", help="Hosts like this one; else the job's, or this one.")]
Xhpl = Annotated[Path | None, typer.Option("--xhpl", metavar="PATH", help="Run this HPL: netlib's, AMD's, Intel's.")]
Quick = Annotated[bool, typer.Option("--quick", help="About a minute: the default.")]
Full = Annotated[bool, typer.Option("--full", help="N for 85 % of the free memory.")]
Order = Annotated[int | None, typer.Option("--n", metavar="N", min=1, max=10_000_000, help="So many equations.")]
Block = Annotated[int | None, typer.Option("--nb", metavar="NB", min=1, max=4096, help="Columns of a block; no search then.")]
PerPart = Annotated[
    str | None, typer.Option("--ranks-per", metavar="PART", help="A rank in each core (the default), l3, numa, socket or node.")
]
BlasFlag = Annotated[str | None, typer.Option("--blas", metavar="FLAGS", help="Link this BLAS: '-L/opt/blis/lib -lblis'.")]
Kernels = Annotated[
    Path | None, typer.Option("--kernels", metavar="DIR", help="Use the programs hpl and peakflops of this folder.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the line of the largest run, and run none.")]


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
    from advisor.cli.answers import Form, show_lines, show_measured
    from advisor.cli.binding import Carrier, per_part
    from advisor.cli.crew import There
    from advisor.cli.efficiency import Ask, bench, steps
    from advisor.cli.efficiency_run import measure
    from advisor.cli.measuring import must_be_alone

    must_be_alone({"--quick": quick, "--full": full, "--n": n is not None})
    must_be_alone({"--xhpl": xhpl is not None, "--blas": blas is not None, "--kernels": kernels is not None})
    ask = Ask(xhpl, full, n, nb, per_part(ranks_per), blas, kernels, busy_ok, verbose)
    made = bench(There(hosts=hosts), Carrier(launcher, launcher_version), ask, os.environ)
    form = Form(output, json, width, not no_color)
    if dry_run:
        return show_lines(*steps(made), form)
    return show_measured(measure(made), made.machine, made.notes, save, form)
