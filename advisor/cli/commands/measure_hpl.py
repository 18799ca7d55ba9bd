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

from advisor.cli import job_options as job
from advisor.cli.options import BusyOk, Json, NoColor, PageOrLines, Save, Steps, Version, Width, at_most_one
from advisor.cli.output import Form, Terminal, show_lines, show_measured


def run(
    *,
    hosts: job.HplHosts = None,
    launcher: job.MpiLauncher = None,
    launcher_version: Version = None,
    xhpl: job.Xhpl = None,
    quick: job.HplQuick = False,
    full: job.HplFull = False,
    n: job.Order = None,
    nb: job.Block = None,
    ranks_per: job.HplPerPart = None,
    scaling: job.Scaling = False,
    blas: job.BlasFlag = None,
    kernels: job.HplKernels = None,
    busy_ok: BusyOk = False,
    dry_run: job.HplDryRun = False,
    save: Save = None,
    verbose: Steps = False,
    json: Json = False,
    output: PageOrLines = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure HPL."""
    from advisor.jobs.hpl import measure
    from advisor.jobs.started.hosts import HostOptions, LauncherOptions, per_part
    from advisor.jobs.started.hpl import HplOptions, hpl_job, hpl_lines, scaling_runs

    at_most_one({"--quick": quick, "--full": full, "--n": n is not None})
    at_most_one({"--xhpl": xhpl is not None, "--blas": blas is not None, "--kernels": kernels is not None})
    ask = HplOptions(xhpl, full, n, nb, per_part(ranks_per), blas, kernels, busy_ok, scaling)
    form, observer = Form(output, json, width, not no_color), Terminal(verbose=verbose)
    made = hpl_job(HostOptions(hosts=hosts), LauncherOptions(launcher, launcher_version), ask, observer=observer)
    runs = scaling_runs(made)
    if dry_run:
        return show_lines(hpl_lines(runs, observer), form)
    return show_measured(measure(made, runs, observer), made.notes, save, form)
