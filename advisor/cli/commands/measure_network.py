"""Measure messages between two hosts, near the adapter and far from it: bandwidth, message rate, latency.

Measures what article [000] found by hand: the bandwidth and message rate of every NUMA node, every socket and all cores,
what distance from the adapter costs, and the share of line rate. The plan comes from the machine, the commands from
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

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from advisor.cli.options import BusyOk, Json, MpiLauncher, NoColor, PageOrLines, Repeats, Save, Steps, Version, Width

if TYPE_CHECKING:
    from advisor.cli.answers import Form
    from advisor.work.network import Experiment

Hosts = Annotated[str | None, typer.Option("--hosts", metavar="A,B", help="The two hosts; in a Slurm or PBS job its first two.")]
Sources = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="FILE", help="Read the hosts from a file; NAME=FILE for one of them, may be repeated."),
]
Per = Annotated[
    Literal["numa", "socket", "node"] | None, typer.Option("--per", help="Only all cores of each of these, no single pairs.")
]
Adapter = Annotated[str | None, typer.Option("--hca", metavar="NAME", help="Only this adapter: mlx5_0. Otherwise each in turn.")]
Sizes = Annotated[
    str | None, typer.Option("--sizes", metavar="LIST", help="Message sizes: 8,64KiB,1MiB, or 1:4MiB for doublings.")
]
Kernels = Annotated[Path | None, typer.Option("--kernels", metavar="DIR", help="Use the program mbw_mr of this folder.")]
Before = Annotated[
    Path | None, typer.Option("--before", metavar="OLD", help="Say what changed since this run (a file), or these (a folder).")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print every command that would be run, and run none.")]


def run(
    *,
    hosts: Hosts = None,
    sources: Sources = None,
    launcher: MpiLauncher = None,
    launcher_version: Version = None,
    per: Per = None,
    hca: Adapter = None,
    sizes: Sizes = None,
    repeats: Repeats = None,
    kernels: Kernels = None,
    busy_ok: BusyOk = False,
    before: Before = None,
    dry_run: DryRun = False,
    save: Save = None,
    verbose: Steps = False,
    json: Json = False,
    output: PageOrLines = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure messages between two hosts."""
    from advisor.cli.answers import Form, show_lines, show_measured
    from advisor.work.bind import LauncherOptions
    from advisor.work.job.hosts import HostOptions
    from advisor.work.measure import must_be_alone
    from advisor.work.network import NetworkOptions, experiment, measure, network_lines

    must_be_alone({"--dry-run": dry_run, "--before": before is not None})
    ask = NetworkOptions("machine" if per == "node" else per, hca, sizes, repeats, kernels, busy_ok, verbose)
    there = HostOptions(tuple(sources or ()), hosts)
    made = experiment(there, LauncherOptions(launcher, launcher_version), ask, os.environ, dry=dry_run)
    form = Form(output, json, width, not no_color)
    if dry_run:
        return show_lines(*network_lines(made, folder_given=output is not None), form)
    if before is not None:
        return _compared(before, made, save, form)
    return show_measured(measure(made), made.machine, made.notes, save, form)


def _compared(before: Path, made: "Experiment", save: Path | None, form: "Form") -> int:
    """Measure, and print what has changed; earlier runs that do not fit are refused first."""
    from advisor.cli.before import fitting, show_compared
    from advisor.work.network import measure

    earlier = fitting(before, made)
    return show_compared(earlier, measure(made), made, save, form)
