"""Measure many nodes at once, and say who is slow beside the others.

Every node must have been captured into DIR first: its plan is made from its capture. Nothing is installed on nodes and nothing
left there; each has an idle gate of its own: one that is busy is not measured. Who is slow is measured a second time before
being named. --quick sends kernels that are built here. --pairs lets each node exchange messages with some others of its kind,
half of the nodes with the other half at the same time: a node that is slow with most is bad, a pair whose both ends do well
with others is a bad link. --hpl runs HPL on each node by itself with the same N. For --pairs and --hpl the launcher is started
here, and its program must be where all nodes see it: in your home, or in --kernels DIR. Exit status is 1 where something is
slow, 2 where nothing was measured.

Group: Many servers
Example: advisor fleet measure -o fleet
Example: advisor fleet measure -w 'n[001-040]' --pairs -o fleet
Example: advisor fleet measure --pairs --pair-command 'mpirun -np 2 --host {a},{b} osu_bw' -w 'n[001-040]'
Example: advisor fleet measure --hpl --xhpl /opt/hpl/xhpl -o fleet
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from advisor.cli import job_options as job
from advisor.cli import node_options as nodes
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show
from advisor.errors import BadValue
from advisor.fleet.measure import measure_fleet
from advisor.fleet.measure_hpl import measure_fleet_hpl
from advisor.fleet.measure_pairs import PairsOptions, measure_pairs
from advisor.fleet.page import measured_page, pairs_page
from advisor.jobs.started.hosts import LauncherOptions
from advisor.jobs.started.hpl import HplOptions
from advisor.machine.hosts.errands import Way


def run(
    *,
    where: nodes.Where = None,
    hosts: nodes.HostsFile = None,
    slurm: nodes.Slurm = None,
    folder: nodes.Folder = Path("fleet"),
    quick: nodes.FleetQuick = False,
    pairs: nodes.Pairs = False,
    meetings: nodes.Meetings = 4,
    pair_command: nodes.PairCommand = None,
    hpl: nodes.Hpl = False,
    xhpl: nodes.FleetXhpl = None,
    n: job.Order = None,
    nb: job.Block = None,
    launcher: job.MpiLauncher = None,
    launcher_version: opt.Version = None,
    kernels: nodes.FleetKernels = None,
    busy_ok: opt.BusyOk = False,
    timeout: nodes.Timeout = 60.0,
    fan_out: nodes.FanOut = 64,
    json: opt.Json = False,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Measure many nodes."""
    opt.at_most_one({"--quick": quick, "--pairs": pairs, "--hpl": hpl})
    _must_mean_something({"--pair-command": pair_command}, "--pairs", there=pairs)
    _must_mean_something({"--xhpl": xhpl, "--n": n, "--nb": nb}, "--hpl", there=hpl)
    asked = _Asked(nodes.named(where, hosts), folder, Way(slurm, fan_out, timeout), Form(None, json, width, not no_color))
    how = LauncherOptions(launcher, launcher_version)
    if pairs:
        return _pairs(asked, PairsOptions(meetings, how, kernels, pair_command, busy_ok))
    return _each(asked, HplOptions(xhpl, n=n, nb=nb, kernels=kernels, busy_ok=busy_ok), how, hpl=hpl)


class _Asked(NamedTuple):
    names: tuple[str, ...] | None
    folder: Path
    way: Way
    form: Form


def _must_mean_something(options: Mapping[str, object], of: str, *, there: bool) -> None:
    """Refuse options of what is not measured."""
    if not there and (name := next((name for name, value in options.items() if value is not None), None)):
        raise BadValue(f"{name} is an option of {of}", cure=f"give {of} too")


def _pairs(asked: _Asked, options: PairsOptions) -> int:
    """Measure pairs of nodes."""
    done = measure_pairs(asked.names, asked.folder, asked.way, options, Terminal())
    show(asked.form, done.document, lambda: pairs_page(done.document(), asked.form.width))
    return done.status


def _each(asked: _Asked, options: HplOptions, launcher: LauncherOptions, *, hpl: bool) -> int:
    """Measure each node by itself: the quick set, or HPL."""
    names, folder, way, form = asked
    if hpl:
        done = measure_fleet_hpl(names, folder, way, options, launcher=launcher, observer=Terminal())
    else:
        done = measure_fleet(names, folder, way, busy_ok=options.busy_ok, observer=Terminal())
    show(form, done.document, lambda: measured_page(done.document(), done.slow, form.width))
    return done.status
