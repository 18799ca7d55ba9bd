"""Commands that look at machines as they are, were and would be: topology, capture, diff, whatif."""

from pathlib import Path
from typing import Annotated, Any

import typer

from advisor.advice.difference_page import difference_document, difference_page, whatif_document, whatif_page
from advisor.advice.model.rule import SEVERITIES, Severity
from advisor.advice.whatif import diff as run_diff
from advisor.advice.whatif import whatif as run_whatif
from advisor.cli import options as opt
from advisor.cli.options import From, Json, NoColor, Output, Rules, ScopeOption, Width
from advisor.cli.output import Form, Terminal, emit, emit_json, say, show
from advisor.errors import BadValue, CannotWork, one_line
from advisor.machine.hosts.files import write_file
from advisor.machine.read import capture_script, captured
from advisor.show.commandline import word
from advisor.show.topology.document import topology as run_topology
from advisor.show.topology.picture import picture
from advisor.show.topology.svg import draw_svg
from advisor.show.topology.terminal import draw

Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the same picture as SVG into FILE.")]


Whole = Annotated[bool, typer.Option("--whole", help="Draw every socket, node and L3 group, equal ones too.")]


def topology(
    *,
    source: From = None,
    whole: Whole = False,
    svg: Svg = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Draw the topology: sockets, NUMA nodes, L3 groups, cores, adapters, and NUMA partitioning by the BIOS.

    Shows where every CPU number is, which memory and which adapter is near it, the NUMA partitioning of the sockets, and how
    sure that is. Equal sockets and nodes of a large machine are drawn once, unless --whole is given. Nothing is changed on
    the machine.

    Group: Look at a machine
    Example: advisor topology
    Example: advisor topology --from node.tar.gz --svg node.svg
    Example: lstopo --of xml other.xml && advisor topology --from other.xml --json
    """
    found = run_topology(source, Terminal())
    if svg is not None:
        write_file(svg, draw_svg(picture(*found), whole=whole).encode())

    if json or svg is None or output is not None:
        show(Form(output, json, width, not no_color), found.document, lambda: draw(*found, whole=whole))


Anonymise = Annotated[
    bool, typer.Option("--anonymise", "--anonymize", help="Remove whatever identifies a machine, a site or a person.")
]


def capture(
    source: From = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The archive to write, .tar.gz.")] = None,
    anonymise: Anonymise = False,
    script: Annotated[bool, typer.Option("--script", help="Print a POSIX shell script that takes a capture elsewhere.")] = False,
) -> None:
    """Store a machine in one file, to look at it anywhere else with --from.

    Keeps the raw files and the output of the commands that advisor reads, uninterpreted, so that a later version sees more
    in the same file. Works without root, and lists what it was not allowed to read. On a node without Python, run the script
    that --script prints: it needs a POSIX shell and nothing else.

    Group: Capture
    Example: sudo advisor capture -o node.tar.gz
    Example: advisor capture --anonymise -o report.tar.gz
    Example: advisor capture --script > capture.sh; scp capture.sh node: ; ssh node sh capture.sh
    Example: advisor capture --from node.tar.gz --anonymise -o report.tar.gz
    """
    if script:
        say(capture_script(), own=True)
        return
    if output is None:
        raise CannotWork("capture needs a file to write; say -o node.tar.gz")
    observer = Terminal()
    data = captured(source, anonymise=anonymise, observer=observer)
    write_file(output, data, private=True)

    size = f"{len(data) // 1024} KiB"
    observer.say(one_line(f"wrote {output} ({size}); look at it with: advisor audit --from {word(str(output))}"))


def whatif(
    wishes: Annotated[list[str] | None, typer.Argument(metavar="[WISH]...", help="nps=4,smt=off, or a finding's number.")] = None,
    *,
    nps: opt.Nps = None,
    l3_as_node: opt.L3 = None,
    interleave: opt.Interleave = None,
    snc: opt.Snc = None,
    cod: opt.Cod = None,
    smt: opt.Smt = None,
    enumeration: opt.Enumeration = None,
    source: opt.From = None,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    bios: opt.Bios = None,
    measurements: opt.MeasurementsOption = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Predict what a BIOS setting changes, before the restart: nodes, CPU numbers, findings, and what stays unknown.

    WISH is a setting, nps=4 or nps=4,smt=off, as the options are; or the number that an audit gives a finding, or a rule,
    whose wish it is then. The machine is transformed as its firmware would: another number of NUMA nodes, SMT on or off,
    CPUs numbered in another order. What cannot be known before the restart is listed and left open. -o writes the resulting
    machine as JSON, which every other command reads with --from: 'advisor bind --from after.json -- ./app' writes the
    rankfiles for after the restart.

    Group: Set it up
    Example: advisor whatif nps=4
    Example: advisor whatif 1
    Example: advisor whatif --nps 4 --smt off
    Example: advisor whatif --from node.tar.gz --nps 4 --enumeration linear -o after.json
    Example: advisor bind --from after.json --ranks-per numa -- ./app
    """
    told = {"nps": nps, "l3_as_node": l3_as_node, "interleave": interleave, "snc": snc, "cod": cod, "smt": smt}
    text = _text(wishes or [], {**told, "enumeration": enumeration})
    files = {"site": rules or (), "bios": bios or (), "measurements": measurements or ()}
    found = run_whatif(source, text, scope, **files, observer=Terminal())

    if json or output is not None:
        emit_json(whatif_document(found), output)
    if not json:
        emit([whatif_page(found, str(output) if output else None)], None, color=not no_color, width=width)


def _text(wishes: list[str], told: dict[str, Any]) -> str:
    """Return the assumption as a text: nps=4,smt=off."""
    texts = [*wishes, *(f"{name}={value}" for name, value in told.items() if value is not None)]
    if not texts:
        raise BadValue("no setting is given", cure="write advisor whatif nps=4, or another setting; see advisor whatif --help")
    return ",".join(texts)


One = Annotated[str, typer.Argument(metavar="A", help="The machine before; '-' is this one.")]


Other = Annotated[str, typer.Argument(metavar="B", help="The machine after; '-' is this one.")]


FailOn = Annotated[
    Severity | None,
    typer.Option("--fail-on", metavar="SEVERITY", help="Exit 1 where B gained a finding of this severity or worse."),
]


def diff(
    one: One,
    other: Other,
    *,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    fail_on: FailOn = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Compare two machines, or one machine before and after a change.

    A and B are captures, hwloc XML, Machine JSON or the output of 'advisor audit --json'; '-' is this machine. Parts are
    matched by name, so that a changed NPS shows as one change of NUMA partitioning and not as a hundred moved nodes. What
    only one side could read is no difference. Exit status 1 where B has findings that A has not, at or above --fail-on.

    Group: Compare
    Example: advisor diff before.tar.gz after.tar.gz
    Example: advisor diff golden-node.tar.gz - --json
    """
    a, b = (None if each == "-" else each for each in (one, other))
    found = run_diff(a, b, scope, site=rules or (), observer=Terminal())

    form = Form(output, json, width, not no_color)
    show(form, lambda: difference_document(found), lambda: difference_page(found))
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on else ()
    return int(any(each.severity in worst for each in found.gained))
