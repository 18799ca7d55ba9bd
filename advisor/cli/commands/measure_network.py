"""Measure messages between two hosts, near the adapter and far from it: bandwidth, message rate, latency.

Measures what distance from the adapter costs: the bandwidth and message rate of every NUMA node, every socket and all cores,
and the share of line rate. The plan comes from the machine, the commands from
advisor bind, and every rank reports where it really ran: results from elsewhere are rejected. The kernel is built with
the mpicc beside the launcher, and must be where both hosts see it: in your home, or in --kernels DIR. Under Slurm the
hosts are those of the job. Both hosts are taken to be like this one, unless --from says otherwise. With one host or none
the pairs are inside it. --dry-run prints every command, ready to paste into a job; -o DIR writes them there. --before OLD
compares the messages of all cores with an earlier run: save it, change the BIOS (Preferred IO), restart, measure again.
Starts of one setting differ, too: to be sure save five of each with --per node into folders, and compare these with
advisor measure show --before off on.

Group: Look at a machine
Example: advisor measure network --hosts node01,node02
Example: advisor measure network --hosts node01,node02 --hca mlx5_0 --per numa --save network.json
Example: advisor measure network --hosts node01,node02 --before network.json --save after.json
Example: advisor measure network --hosts a,b --from node.tar.gz --launcher openmpi --launcher-version 4.1.5 --dry-run
"""

from pathlib import Path
from typing import TYPE_CHECKING

from advisor.cli import job_options as job
from advisor.cli.options import (
    BusyOk,
    Json,
    NoColor,
    PageOrLines,
    Repeats,
    Save,
    Steps,
    Version,
    Width,
    at_most_one,
)
from advisor.cli.output import Form, Terminal, show_lines, show_measured
from advisor.errors import AdvisorError

if TYPE_CHECKING:
    from advisor.jobs.started.network import Experiment


def run(
    *,
    hosts: job.NetworkHosts = None,
    sources: job.NetworkSources = None,
    launcher: job.MpiLauncher = None,
    launcher_version: Version = None,
    per: job.NetworkPer = None,
    hca: job.Adapter = None,
    sizes: job.Sizes = None,
    repeats: Repeats = None,
    kernels: job.NetworkKernels = None,
    busy_ok: BusyOk = False,
    before: job.NetworkBefore = None,
    dry_run: job.NetworkDryRun = False,
    save: Save = None,
    verbose: Steps = False,
    json: Json = False,
    output: PageOrLines = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure messages between two hosts."""
    from advisor.jobs.started.hosts import HostOptions, LauncherOptions
    from advisor.jobs.started.network import NetworkOptions, experiment, measure, network_lines

    at_most_one({"--dry-run": dry_run, "--before": before is not None})
    ask = NetworkOptions("machine" if per == "node" else per, hca, sizes, repeats, kernels, busy_ok)
    there, how = HostOptions(tuple(sources or ()), hosts), LauncherOptions(launcher, launcher_version)
    form, observer = Form(output, json, width, not no_color), Terminal(verbose=verbose)
    made = experiment(there, how, ask, dry=dry_run, observer=observer)
    if dry_run:
        return show_lines(network_lines(made, folder_given=output is not None, observer=observer), form)
    if before is not None:
        return _compared(before, made, save, form, observer)
    return show_measured(measure(made, observer), made.notes, save, form)


def _compared(before: Path, made: "Experiment", save: Path | None, form: Form, observer: Terminal) -> int:
    """Measure, and print what has changed; earlier runs that do not fit are refused first."""
    from advisor.jobs.started.network import fitting_runs, measure
    from advisor.measure.before_after import compare_runs

    earlier = fitting_runs(before, made)
    done = measure(made, observer)
    try:
        found = compare_runs(earlier, [done.measurements])
    except AdvisorError as error:
        status = show_measured(done, made.notes, save, form)
        observer.say(f"not compared: {error}")
        return status or 2
    return show_measured(done, made.notes, save, form, compared=found)
