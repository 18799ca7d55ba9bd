"""Commands that compare, and say all on one page or in the words of another program: compare, whatif, report, export."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from advisor.advice.compare import whatif_document, whatif_page
from advisor.advice.model.sheets import SEVERITIES
from advisor.advice.whatif import whatif as run_whatif
from advisor.cli import options as opt
from advisor.cli.bmc_options import NO_BIOS, GivenBios, reads_bios
from advisor.cli.main import must_be_writable
from advisor.cli.options import Json, NoColor, Output, Rules, ScopeOption, Width, each_of, has_form
from advisor.cli.output import PLAIN, Form, Terminal, emit, emit_json, emit_text, say, show
from advisor.errors import BadValue, must_be_one_of
from advisor.exports.compared import change_report, compared_machines
from advisor.exports.compared import compare as run_compare
from advisor.exports.contract import EXAMPLE, accept
from advisor.exports.export import export as run_export
from advisor.exports.export import export_format, formats, listing
from advisor.exports.single import CONTRACT_FORMS, MeasureNow, form_of
from advisor.exports.single import report as run_report
from advisor.exports.slurm_check import check_slurm
from advisor.fleet.audit import audit_fleet, columns, need_parquet, parquet
from advisor.machine.hosts.files import write_file
from advisor.measure.platform import Scope

LookForm = Annotated[
    str | None,
    typer.Argument(metavar="FORMAT", help="What to write; --list has them all.", autocompletion=opt.exports),
]


List = Annotated[bool, typer.Option("--list", help="Print the formats and the programs each was proven with.")]


LookFrom = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE|DIR", help="A capture, hwloc XML, saved audit or Machine JSON, or a fleet's folder."),
]


ScopeOfExport = Annotated[
    Scope | None, typer.Option("--scope", help="The kind of work to audit for: mpi; a saved audit keeps its own.")
]


Prefix = Annotated[str, typer.Option("--prefix", metavar="NAME", help="Prefix of names in the other program.")]


Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="WHAT", help="Add what a format omits; --list names it.", callback=each_of),
]


Into = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE|DIR", help="Write to this file instead of the terminal; several files go into DIR."
    ),
]


Check = Annotated[str | None, typer.Option("--check", metavar="FILE", help="With slurm: compare this slurm.conf with the nodes.")]


CheckJson = Annotated[bool, typer.Option("--json", help="With --check: print JSON, with a schema version in it.")]


Tuned = Annotated[
    list[Path] | None, typer.Option("--tuned", metavar="DIR", help="Show the race in a folder of advisor tune; may be repeated.")
]


For = Annotated[
    Literal["internal", "vendor", "public"],
    typer.Option(
        "--for", help="vendor: withhold people, hosts and networks; public: withhold everything that identifies the machine."
    ),
]


ContractFile = Annotated[
    Path | None,
    typer.Option("--contract", metavar="FILE", help="Judge this acceptance contract; '--contract --example' prints one."),
]


Example = Annotated[bool, typer.Option("--example", help="Print a contract to begin with.", hidden=True)]


@reads_bios
def report(
    fleet: opt.MayBeFleet = None,
    *,
    contract: ContractFile = None,
    example: Example = False,
    source: opt.From = None,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: opt.MeasurementsOption = None,
    measure: opt.AuditMeasure = True,
    network: opt.AuditNetwork = None,
    hpl: opt.AuditHpl = False,
    full: opt.AuditFull = False,
    busy_ok: opt.BusyOk = False,
    tuned: Tuned = None,
    only: opt.Only = None,
    form: opt.ReportFormat = None,
    audience: For = "internal",
    json: opt.Json = False,
    output: opt.Output = None,
) -> int:
    """Write one page for a ticket or an acceptance report.

    The page has the verdict and the fixes first, then the machine drawn with what is wrong marked on it, what was measured
    beside what is published, settings, the plan in the vendor's commands, launch lines, what could not be seen, and every
    fact with its source. It is one file without script that loads nothing, for screen, dark screen and paper. An idle
    machine is measured first, in under a minute, as by audit; --no-measure, --full, --hpl and --network as there. --from,
    --bios and --measurements take what was captured elsewhere. --tuned shows what a race of advisor tune found. --only 1 is
    about one finding, for a ticket of its own; --as md is for tickets, --as json for programs: compare and audit read it.

    With FLEET, a folder of captures, the page is about many nodes: findings by kind of hardware, what drifted, split or is
    slow, and every node. --as parquet is a table for analysts instead: a row per node that answered, a column per fact,
    figure and finding, without serial numbers, MACs or other names of a node.

    Credentials are on no page; --for vendor withholds people, hosts and networks, --for public all that names the machine,
    and the page says what.

    --contract judges an acceptance contract on a machine, on two states of one, or on a fleet's folder: each line passed,
    failed, or not shown with the command that shows it; --as junit is for CI. Exit status is 1 unless every line passed.

    Group: Look
    First: --from --scope --measurements --network --full --only --contract --as --for --output
    Example: sudo advisor report -o node.html
    Example: advisor report --from node.tar.gz --measurements full.json -o node.html
    Example: advisor report --from node.tar.gz --only 1 --as md
    Example: advisor report fleet/ -o fleet.html
    Example: advisor report --contract --example
    Example: advisor report --contract tender.yaml node.tar.gz -o accepted.html
    """
    if example or str(contract) == "--example":
        emit_text(EXAMPLE, output)
        return 0
    watcher = Terminal(details=sys.stderr.isatty())
    opt.keep_apart(
        {"--network": network is not None, "--hpl": hpl, "--full": full, "--busy-ok": busy_ok},
        {"--from": source is not None, "--no-measure": not measure, "FLEET": bool(fleet)},
    )
    opt.keep_apart({"--full": full}, {"--measurements": bool(measurements)})
    opt.at_most_one({"--json": json, f"--as {form}": form not in (None, "json")})
    form = "json" if json else form
    opt.keep_apart({"--only": bool(only)}, {"--as json": form == "json"})
    files: dict[str, Any] = {"site": rules or (), "measurements": measurements or (), "observer": watcher}
    if contract is not None:
        opt.keep_apart({"--only": bool(only), "--tuned": bool(tuned), "--for": audience != "internal"}, {"--contract": True})
        machines: list[str | None] = [str(each) for each in fleet or ()] or [source]
        measures = MeasureNow(not measurements, full, network, hpl, busy_ok) if measure and machines == [None] else None
        given = bios.read(watcher, here=machines == [None])
        kind = form_of(form, output, CONTRACT_FORMS)
        accepted = accept(contract, machines, scope, bios=given, measure=measures, **files)
        emit_text(accepted.text(kind), output)
        return int(accepted.verdict != "passed")
    if fleet:
        opt.must_be_fleet(fleet)
        others = {"--from": source is not None, "--bios or --bmc": bios.there, "--measurements": bool(measurements)}
        opt.keep_apart({"FLEET": True}, {**others, "--only": bool(only), "--tuned": bool(tuned), "--for": audience != "internal"})
        return _fleet_report(fleet, form, output, scope, rules or ())
    kind = form_of(form, output)
    asked = MeasureNow(not measurements, full, network, hpl, busy_ok) if measure and source is None else None
    given = bios.read(watcher, here=source is None)
    made = run_report(
        source, scope, bios=given, measure=asked, only=only or (), again=bios.words, tuned=tuned or (), audience=audience, **files
    )
    emit_text(made.text(kind), output)
    return 130 if made.audited.measured.interrupted else 0


def _fleet_report(places: list[Path], form: str | None, output: Path | None, scope: Scope, site: Sequence[Path]) -> int:
    """Write the page of a fleet, or its table."""
    if output is None and form != "html":
        raise BadValue("a report is a file", cure="name it with -o fleet.html, or -o fleet.parquet for a table")
    named = form or (output.suffix[1:].lower() if output else "")
    kind = must_be_one_of("format of a fleet's reports:", named, ("html", "parquet"), "there are html, parquet")
    if kind == "parquet":
        need_parquet()
    found = audit_fleet(places, scope, site=site, observer=Terminal())
    if output is None:
        return emit_text(found.html(scope), None)
    written = found.html(scope).encode() if kind == "html" else parquet(columns(found))
    write_file(output, written)
    Terminal().say(f"wrote {output} ({len(written) >> 10} KiB)")
    return 0


def export(
    name: LookForm = None,
    *,
    source: LookFrom = None,
    scope: ScopeOfExport = None,
    rules: opt.Rules = None,
    bios: opt.Bios = None,
    measurements: opt.MeasurementsOption = None,
    prefix: Prefix = "advisor",
    include: Include = None,
    into: Into = None,
    check: Check = None,
    as_json: CheckJson = False,
    fail_on: opt.AuditFailOn = "never",
    listed: List = False,
) -> int:
    """Export to Slurm, Prometheus, JUnit, NHC, Ansible or ReFrame.

    --list names every format, with the tool and version that accepted it. --from takes a capture, an hwloc XML, a fleet's
    folder, or a saved audit (advisor audit --json), which is exported unchanged. No export holds serial numbers or hardware
    addresses. Your own templates in /etc/advisor/templates/export or ~/.config/advisor/templates/export are formats, too.
    docs/exports.md shows how to use each.

    slurm --check FILE compares a slurm.conf, its included files and the gres.conf beside it, with the nodes: what differs,
    what that costs, and the corrected line. Exit status is 0 whatever differs, unless --fail-on names a severity.

    Group: For programs
    First: --from --scope --measurements --include --check --output --fail-on --list --prefix --json
    Example: advisor export --list
    Example: advisor export prometheus -o /var/lib/node_exporter/advisor.prom
    Example: advisor export junit --from node.tar.gz -o advisor.xml
    Example: advisor export slurm --check /etc/slurm/slurm.conf --fail-on high
    Example: advisor export ansible --from fleet/ -o inventory.sh
    """
    if listed:
        say(listing(formats().values()))
        return 0
    if check is not None:
        return _checked(name, check, source, Form(into, as_json), fail_on)
    if as_json:
        raise BadValue("--json works only with --check", cure="drop it, or see advisor export --list")
    if name is None:
        raise BadValue("no format given", cure="advisor export --list has them")
    export_format(name)  # a format that is none, and a place that cannot be written, are refused before the machine is read
    if into is not None:
        must_be_writable(into, folder=into.is_dir())
    audited = {"site": rules or (), "bios": bios or (), "measurements": measurements or ()}
    made = run_export(name, source, scope, **audited, prefix=prefix, include=include or (), observer=Terminal())
    if into is None:
        say(made.text)
    for path in made.write(into) if into is not None else ():
        Terminal().say(f"wrote {path}")
    return 0


def _checked(name: str | None, file: str, source: str | None, form: Form, fail_on: opt.AuditLimit) -> int:
    """Print or write how a slurm.conf differs from the nodes; return the exit status."""
    if name != "slurm":
        raise BadValue("--check works only with slurm", cure=f"advisor export slurm --check {file}")
    if form.output is not None:
        must_be_writable(form.output)
    found = check_slurm(file, source, Terminal())
    if form.json:
        emit_json(found.document(), form.output)
    else:
        emit_text(found.page(), form.output)
    return int(fail_on != "never" and found.reaches(fail_on))


@has_form
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
    form: Form = PLAIN,
) -> None:
    """Predict what a BIOS setting changes, before the restart.

    WISH is a setting, such as nps=4 or nps=4,smt=off, or a finding's number or rule: then it is the setting that the finding
    asks for. Prints the machine as its firmware would change it: NUMA nodes, SMT, the order of CPU numbers. What cannot be
    predicted is listed as unknown. -o writes the resulting machine as JSON for the --from of every other command: 'advisor
    bind --from after.json -- ./app' writes the rankfiles for after the restart.

    Group: Set up
    First: --nps --l3-as-node --interleave --snc --cod --smt --enumeration --from --json --output
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

    if form.json or form.output is not None:
        emit_json(whatif_document(found), form.output)
    if not form.json:
        emit([whatif_page(found, str(form.output) if form.output else None)], None, color=form.color, width=form.width)


def _text(wishes: list[str], told: dict[str, Any]) -> str:
    """Return the assumption as a text: nps=4,smt=off."""
    texts = [*wishes, *(f"{name}={value}" for name, value in told.items() if value is not None)]
    if not texts:
        raise BadValue("no setting given", cure="write advisor whatif nps=4, or another setting; see advisor whatif --help")
    return ",".join(texts)


One = Annotated[
    str, typer.Argument(metavar="A", help="A machine ('-' is this one), measurements, another program's output, a node.")
]


Other = Annotated[str, typer.Argument(metavar="B", help="What to compare it with.")]


Fleet = Annotated[
    list[Path] | None, typer.Argument(metavar="[FLEET...]", help="The folder of captures in which A and B are nodes.")
]


ChangeForm = Annotated[
    Literal["html", "md"] | None, typer.Option("--as", help="Write a page about two machines; default: by the file's extension.")
]


def compare(
    one: One,
    other: Other,
    fleet: Fleet = None,
    *,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    measurements: opt.MeasurementsOption = None,
    source: opt.MeasuredMachine = None,
    placed: opt.Placed = None,
    fail_on: opt.AuditFailOn = "never",
    form: ChangeForm = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Compare two machines, nodes, measurements or programs' figures.

    Two machines (captures, hwloc XML, Machine JSON, saved audits and reports, '-' for this one) or two nodes of FLEET: what
    differs, which findings are new or gone, and what was measured of both, if anything. Parts are matched by name: a changed
    NPS is one change, not a hundred moved nodes. What only one side could read is no difference. --as html or md, or a file
    of that ending, is a page for a ticket. --fail-on makes findings that only B has exit status 1.

    Two files that measure --save wrote, or two folders of such files, one per start: what changed, with an exact p. A file
    that another benchmark program printed: its best figures beside the other's; --from says on which machine it ran, and
    --placed on which part.

    Group: Look
    Example: advisor compare before.tar.gz after.tar.gz
    Example: advisor compare before.json after.json -o change.html
    Example: advisor compare n0001 n0471 fleet/
    Example: advisor compare old.json new.json
    Example: advisor compare quick.json stream.log --from node.tar.gz --placed machine
    """
    site, files, observer, kind = rules or (), measurements or (), Terminal(), form or _page_of(output)
    opt.at_most_one({"--json": json, f"--as {kind}": kind is not None})
    opt.at_most_one({"FLEET": bool(fleet), "--from": source is not None, "--measurements": bool(files)})
    if kind is not None:
        a, b = compared_machines(one, other, fleet or ())
        change = change_report(a, b, scope, site=site, measurements=files, observer=observer)
        return emit_text(change.html() if kind == "html" else change.markdown(), output)
    found = run_compare(
        one, other, fleet or (), scope, site=site, measurements=files, source=source, placed=placed, observer=observer
    )
    if fail_on != "never" and found.difference is None:
        raise BadValue("--fail-on is about findings, and only machines have them", cure="drop it")
    show(Form(output, json, width, not no_color), found.document, lambda: [*found.pages(width)])
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != "never" else ()
    return int(found.difference is not None and any(each.severity in worst for each in found.difference.gained))


def _page_of(output: Path | None) -> Literal["html", "md"] | None:
    """Return the format that a file's name asks for; None is the terminal's page."""
    ending = output.suffix.lower() if output is not None else ""
    return "html" if ending in (".html", ".htm") else "md" if ending == ".md" else None
