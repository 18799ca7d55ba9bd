"""Commands of many nodes: capture, audit, show, measure."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from shlex import split
from typing import Annotated, Any, Literal, NamedTuple

from typer import Argument, Option

from advisor.cli import job_options as job
from advisor.cli import options as opt
from advisor.cli.options import has_form, with_several
from advisor.cli.output import PLAIN, Form, Terminal, say, show
from advisor.errors import BadValue
from advisor.fleet.audit import AuditedFleet, audit_fleet
from advisor.fleet.capture import CaptureOptions, age, capture_fleet, capture_now
from advisor.fleet.golden import golden_changes, golden_in, golden_of, golden_text, held
from advisor.fleet.history import arguments, day_named, new_incidents, since, snapshots
from advisor.fleet.history import keep as write_snapshot
from advisor.fleet.measure import measure_fleet, measure_fleet_hpl
from advisor.fleet.measure_pairs import PairsOptions, measure_pairs
from advisor.fleet.page import (
    captured_page,
    excluded_text,
    fleet_page,
    golden_page,
    incident_page,
    measured_page,
    node_document,
    node_page,
    pairs_page,
    since_page,
    wrong_document,
    wrong_page,
)
from advisor.jobs.started.hosts import LauncherOptions
from advisor.jobs.started.hpl import HplOptions
from advisor.machine.hosts.errands import Way
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.live import LiveHost

Where = Annotated[str | None, Option("--hosts", "-w", metavar="LIST", help="The nodes: n[001-400], or a ClusterShell @group.")]

HostsFile = Annotated[Path | None, Option("--hostfile", metavar="FILE", help="A file with one node per line.")]

Slurm = Annotated[str | None, Option("--slurm", metavar="PARTITION", help="Use a small Slurm job per node instead of ssh.")]

Folder = Annotated[Path, Option("--output", "-o", metavar="DIR", help="The fleet's folder, for NODE.tar.gz and answers.jsonl.")]

Again = Annotated[
    str | None,
    Option(
        "--again",
        metavar="OUTCOME",
        help="Retry nodes that had this outcome last time; failed means all nodes without a capture.",
    ),
]

Timeout = Annotated[
    float,
    Option(
        "--timeout", metavar="SECONDS", min=1, max=86400, help="Timeout per node in seconds, including time in the Slurm queue."
    ),
]

FanOut = Annotated[int, Option("--fan-out", metavar="N", min=1, max=1024, help="Number of nodes to contact at the same time.")]

Pairs = Annotated[
    bool, Option("--pairs", help="Exchange messages between pairs of nodes, to distinguish a bad link from a bad node.")
]

Meetings = Annotated[int, Option("--meetings", metavar="K", min=1, max=64, help="With --pairs: number of partners per node.")]

PairCommand = Annotated[
    str | None,
    Option(
        "--pair-command",
        metavar="CMD",
        help="With --pairs: run this command; {a} and {b} are the nodes; it must print OSU-style output.",
    ),
]

Hpl = Annotated[bool, Option("--hpl", help="Run HPL on each node separately, all at the same time, with the same N.")]

FleetQuick = Annotated[bool, Option("--quick", help="Measure memory, peak and latency of each node (the default).")]

FleetXhpl = Annotated[
    Path | None, Option("--xhpl", metavar="PATH", help="With --hpl: run this HPL binary; it must exist on every node.")
]

FleetKernels = Annotated[
    Path | None, Option("--kernels", metavar="DIR", help="Use mbw_mr or hpl from this folder, visible on every node.")
]


def _named(where: str | None, hosts: Path | None) -> tuple[str, ...] | None:
    """Return the nodes that are named; None where none is, and Slurm or the folder says which."""
    opt.at_most_one({"-w": where is not None, "--hostfile": hosts is not None})
    from advisor.jobs.started.hosts import names_in, names_of

    return names_of(where) if where is not None else names_in(hosts) if hosts is not None else None


Places = Annotated[
    list[Path],
    Argument(metavar="DIR|FILE...", help="A folder of captures, or several captures, hwloc XMLs or Machine JSONs."),
]

MayBePlaces = Annotated[
    list[Path] | None,
    Argument(
        metavar="[DIR|FILE...]",
        help="A folder of captures, or several captures, hwloc XMLs or Machine JSONs; with -w, the output folder.",
    ),
]

CaptureFirst = Annotated[
    str | None,
    Option("--hosts", "-w", metavar="LIST", help="Capture these nodes into DIR (default: fleet) first: n[001-400], @group."),
]

CaptureHosts = Annotated[
    Path | None, Option("--hostfile", metavar="FILE", help="Like -w, but from a file with one node per line.")
]

CaptureSlurm = Annotated[
    str | None,
    Option(
        "--slurm", metavar="PARTITION", help="Like -w, but with a small Slurm job per node: on all nodes, or on the -w nodes."
    ),
]

FailOnMissing = Annotated[bool, Option("--fail-on-missing", help="Exit 1 if a node did not answer.")]

Exclude = Annotated[
    Path | None,
    Option(
        "--exclude",
        metavar="FILE",
        help="Write to FILE the nodes that should get no jobs, in the form that srun --exclude expects.",
    ),
]

ExcludeFrom = Annotated[
    Literal["high", "medium", "low"],
    Option("--exclude-from", help="With --exclude: exclude nodes with incidents of this severity or above."),
]

GoldenFile = Annotated[
    Path | None,
    Option("--golden", metavar="FILE", help="Compare nodes with this file, written by fleet golden save."),
]

Keep = Annotated[
    str | None,
    Option(
        "--keep", metavar="AGE", help="Keep a snapshot in DIR/history for fleet since; remove snapshots older than this: 4w, 52w."
    ),
]

OnNew = Annotated[
    str | None,
    Option(
        "--on-new",
        metavar="CMD",
        help="With --keep: run CMD ACTION SEVERITY ID NODES TEXT for each new incident, without a shell.",
    ),
]

Verbose = Annotated[bool, Option("--verbose", "-v", help="Print every line in full.")]

What = Annotated[str, Argument(metavar="WHAT", help="An incident (its number on the screen, or its id), a rule, or a node.")]


def _captured_first(
    *,
    places: MayBePlaces = None,
    where: CaptureFirst = None,
    hosts: CaptureHosts = None,
    slurm: CaptureSlurm = None,
    timeout: Timeout = 60.0,
    fan_out: FanOut = 64,
) -> list[Path]:
    """Return the places to look at; where nodes are named they are captured first, all of them again."""
    names = _named(where, hosts)
    if names is None and slurm is None:
        if not places:
            raise BadValue("no fleet given", cure="give a folder of captures, capture files (*.tar.gz), or nodes with -w")
        return places
    if places and (len(places) > 1 or (places[0].exists() and not places[0].is_dir())):
        raise BadValue("all captures are written to one folder", cure="give one DIR with -w, or omit it to use fleet/")

    folder = places[0] if places else Path("fleet")
    capture_now(names, folder, Way(slurm, fan_out, timeout), Terminal())
    return [folder]


def _captures_first(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that looks at a fleet -w and what goes with it; it takes the places to look at as ``places``."""
    return with_several(run, "places", _captured_first)


@_captures_first
@has_form
def fleet_audit(
    *,
    places: list[Path],
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    fail_on: opt.AuditFailOn = "never",
    fail_on_missing: FailOnMissing = False,
    exclude: Exclude = None,
    exclude_from: ExcludeFrom = "high",
    golden: GoldenFile = None,
    keep: Keep = None,
    on_new: OnNew = None,
    verbose: Verbose = False,
    form: Form = PLAIN,
) -> int:
    """Audit many nodes on one screen: one line per cause, most urgent first.

    Reads a folder of captures (with answers.jsonl, the list of nodes asked, if there is one), or captures, hwloc XMLs and
    Machine JSONs from elsewhere; -w first captures the nodes again into DIR, then judges all of DIR. Nodes are grouped by
    hardware. A fact on which at most a tenth of the nodes of a kind differ, or findings with the same cause, make up one
    incident: DRAIN keeps jobs away, TICKET needs a repair or a changed setting, ASK means that nodes of one kind are split and
    only you know which side is right, WATCH can wait, INFO is not a fault. fleet show N prints one in full. A second audit of a
    folder reads only what is new. --keep saves each node's state to DIR/history for fleet since. Exit status is 0 whatever it
    finds, unless --fail-on or --fail-on-missing says otherwise; 2 if no node answered.

    Group: Many nodes
    First: --hosts --hostfile --slurm --scope --fail-on --fail-on-missing --exclude --verbose --json --output
    Example: advisor fleet audit -w 'n[001-400]' fleet/
    Example: advisor fleet audit fleet/
    Example: advisor fleet audit 'captures'/*.tar.gz --json
    Example: advisor fleet audit fleet/ --fail-on high --exclude odd.nodes
    Example: advisor fleet audit fleet/ --golden golden.yaml
    Example: advisor fleet audit fleet/ --keep 52w --on-new /usr/local/sbin/open-ticket
    """
    observer, oldest = Terminal(), None if keep is None else age(keep)
    if on_new is not None and oldest is None:
        raise BadValue("--on-new needs an earlier snapshot to compare with", cure="also give --keep: --keep 52w")
    if oldest is not None and (len(places) != 1 or not places[0].is_dir()):
        raise BadValue("--keep writes into a fleet's folder", cure="give one DIR")
    meant = None if golden is None else partial(held, golden_in(golden), today=datetime.now().astimezone().date())
    found = audit_fleet(places, scope, site=rules or (), exclude_from=exclude_from, holding=meant, observer=observer)
    if exclude is not None:
        write_file(exclude, f"{found.fleet.exclude}\n".encode())
        observer.say(f"wrote {exclude}: {excluded_text(found.fleet)}")
    if oldest is not None:
        _kept(found, places[0], oldest, on_new, observer)
    page = partial(fleet_page, found.fleet, [str(place) for place in places], verbose=verbose, width=form.width)
    show(form, found.document, page)
    return int((fail_on != "never" and found.fleet.reaches(fail_on)) or (fail_on_missing and bool(found.fleet.silent)))


def _kept(found: AuditedFleet, folder: Path, oldest: timedelta, on_new: str | None, observer: Terminal) -> None:
    """Keep a snapshot, and start the command for each incident that the one before does not have."""
    before = snapshots(folder)
    fresh = [] if on_new is None else new_incidents(found, before[-1] if before else None)
    observer.say(f"wrote {write_snapshot(found, folder, datetime.now(UTC), oldest)}")
    for each in fresh:
        ran = LiveHost().launch(arguments(split(on_new or ""), each), lambda _: None, timeout=_PATIENCE)
        if ran.why is not None or ran.status:
            observer.say(f"--on-new {on_new}: {ran.why or f'exit status {ran.status}'} for {each.nodes}: {each.text}")


_PATIENCE = 60.0
"""Seconds that a command may take for an incident."""
When = Annotated[str, Argument(metavar="WHEN", help="monday, yesterday, 2026-01-31, or a snapshot of DIR/history.")]

FleetFolder = Annotated[Path, Argument(metavar="DIR", help="The fleet's folder.")]


@has_form
def fleet_since(
    when: When,
    folder: FleetFolder,
    *,
    form: Form = PLAIN,
) -> int:
    """Show what appeared, disappeared or flapped in a fleet since a given day.

    Reads the snapshots that fleet audit --keep AGE wrote to DIR/history, and compares the latest with the last one taken at or
    before WHEN. Each change lists the snapshots between which it appeared, and the first and last that show it. A node that did
    not answer counts as unchanged.

    Group: Many nodes
    Example: advisor fleet since monday fleet/
    Example: advisor fleet since 2026-01-31 fleet/ --json
    """
    found = since(folder, day_named(when, datetime.now(UTC)))
    show(form, found.document, lambda: since_page(found, form.width))
    return 0


Words = Annotated[list[str], Argument(metavar="save DIR | diff A B", help="save a fleet, or diff two files.")]


@has_form
def fleet_golden(
    words: Words,
    *,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    form: Form = PLAIN,
) -> int:
    """Save the expected state of each kind of node, for review; or compare two such files.

    'save DIR -o golden.yaml' writes the facts that most nodes of a kind share (taken from a node without deviations), the
    accepted rules, and space for waivers (nodes, reason, last day), tolerances and owners. Next to this file it saves the
    Machine data of each golden node, without the node's name. fleet audit --golden checks nodes against the file, and advisor
    export slurm, nhc and prometheus-rules use it. 'diff A B' shows what changed, with exit status 1 if anything did.

    Group: Many nodes
    Example: advisor fleet golden save fleet/ -o golden.yaml
    Example: advisor fleet golden diff golden.yaml new.yaml
    """
    match words:
        case ["save", first, *more]:
            found = audit_fleet([Path(each) for each in (first, *more)], scope, site=rules or (), observer=Terminal())
            golden, machines = golden_of(found)
            if form.output is None:
                say(golden_text(golden))
                return 0
            for name, machine in machines.items():
                write_file(form.output.parent / name, machine.model_dump_json(indent=1, exclude_none=True).encode() + b"\n")
            write_file(form.output, golden_text(golden).encode())
            return 0
        case ["diff", one, other]:
            told = list(golden_changes(golden_in(Path(one)), golden_in(Path(other))))
            document = {"schema": "advisor-fleet-golden-diff/1", "changes": told}
            show(form, lambda: document, lambda: golden_page(told, form.width))
            return int(bool(told))
    raise BadValue(
        f"fleet golden {' '.join(words)[:60]}: missing or unexpected arguments",
        cure="write golden save DIR -o FILE, or golden diff A B",
    )


def fleet_capture(
    *,
    where: Where = None,
    hosts: HostsFile = None,
    slurm: Slurm = None,
    folder: Folder = Path("fleet"),
    fresh_after: Annotated[
        str | None,
        Option("--fresh-after", metavar="AGE", help="Recapture nodes whose capture is older than this: 12h, 1d, 2w."),
    ] = None,
    again: Again = None,
    timeout: Timeout = 60.0,
    fan_out: FanOut = 64,
    fail_on_missing: FailOnMissing = False,
    json: opt.Json = False,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Capture many nodes over ssh or srun, each into one file of a folder.

    Sends the script of advisor capture --script to each node on standard input, over ssh (with your configuration, keys and
    known_hosts, and clush.conf's ssh options) or as one small Slurm job per node; checks what comes back and keeps it as
    DIR/NODE.tar.gz. Run it again to ask the nodes that have not answered; nodes with a capture are skipped.

    Group: Many nodes
    Example: advisor fleet capture -w 'n[001-400]' -o fleet
    Example: advisor fleet capture --slurm main -o fleet
    Example: advisor fleet capture --again failed -o fleet
    Example: advisor fleet capture -w @rack1 --fresh-after 1d -o fleet
    """
    oldest = None if fresh_after is None else age(fresh_after)
    how = CaptureOptions(Way(slurm, fan_out, timeout), oldest, again)
    done = capture_fleet(_named(where, hosts), folder, how, Terminal())
    show(Form(None, json, width, not no_color), done.document, lambda: captured_page(done.document(), width))
    return done.status(fail_on_missing=fail_on_missing)


def fleet_measure(
    *,
    where: Where = None,
    hosts: HostsFile = None,
    slurm: Slurm = None,
    folder: Folder = Path("fleet"),
    quick: FleetQuick = False,
    pairs: Pairs = False,
    meetings: Meetings = 4,
    pair_command: PairCommand = None,
    hpl: Hpl = False,
    xhpl: FleetXhpl = None,
    n: job.Order = None,
    nb: job.Block = None,
    launcher: job.MpiLauncher = None,
    launcher_version: opt.Version = None,
    kernels: FleetKernels = None,
    busy_ok: opt.BusyOk = False,
    timeout: Timeout = 60.0,
    fan_out: FanOut = 64,
    json: opt.Json = False,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Measure many nodes at once, and name the slow ones.

    Needs a capture of every node in DIR to make the plan. Installs nothing on the nodes and leaves nothing there; a
    busy node is skipped. A slow node is measured again before it is reported. --quick sends kernels that are built here.
    --pairs exchanges messages between nodes of a kind, half of them with the other half at the same time: a node that is
    slow with most partners is bad, a slow pair whose ends are fast with others has a bad link. --hpl runs HPL on each node
    alone, with the same N. --pairs and --hpl start the launcher here, and every node must see its program: in your home
    directory, or in --kernels DIR. Exit status is 1 if a node or link is slow, 2 if nothing was measured.

    Group: Many nodes
    First: --hosts --slurm --output --pairs --pair-command --hpl --xhpl --launcher --busy-ok --json
    Example: advisor fleet measure -o fleet
    Example: advisor fleet measure -w 'n[001-040]' --pairs -o fleet
    Example: advisor fleet measure --pairs --pair-command 'mpirun -np 2 --host {a},{b} osu_bw' -w 'n[001-040]'
    Example: advisor fleet measure --hpl --xhpl /opt/hpl/xhpl -o fleet
    """
    opt.at_most_one({"--quick": quick, "--pairs": pairs, "--hpl": hpl})
    _must_mean_something({"--pair-command": pair_command}, "--pairs", there=pairs)
    _must_mean_something({"--xhpl": xhpl, "--n": n, "--nb": nb}, "--hpl", there=hpl)
    asked = _Asked(_named(where, hosts), folder, Way(slurm, fan_out, timeout), Form(None, json, width, not no_color))
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
        raise BadValue(f"{name} only applies with {of}", cure=f"also give {of}")


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


@has_form
def fleet_show(
    what: What,
    places: Places,
    *,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    form: Form = PLAIN,
) -> int:
    """Show one line of a fleet audit in full, or everything about one node.

    WHAT is the number or id of an incident shown by advisor fleet audit, the id of a rule, or the name of a node.

    Group: Many nodes
    Example: advisor fleet show 1 fleet/
    Example: advisor fleet show n0471 fleet/
    """
    found = audit_fleet(places, scope, site=rules or (), observer=Terminal())
    incident, wrong = found.incident_named(what), found.wrong_named(what)
    if incident is not None:
        claims, source = found.claims_of(incident), found.source_of(incident.nodes)
        show(form, lambda: wrong_document(incident), lambda: incident_page(incident, claims, source, form.width))
    elif wrong is not None:
        show(form, lambda: wrong_document(wrong), lambda: wrong_page(wrong, found.source_of(wrong.nodes), form.width))
    else:
        node = found.node_named(what)
        told, usual = node_document(found.fleet, node), found.usual_beside(node)
        compare = ("advisor", "compare", usual, node, *map(str, places)) if usual else ()
        show(form, lambda: told, lambda: node_page(told, found.source_of(node), compare, form.width))
    return 0
