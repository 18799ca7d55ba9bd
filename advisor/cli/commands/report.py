"""Commands that compare, and say all on one page or in the words of another program: compare, whatif, report, export."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

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
    Argument(metavar="FORMAT", help="The format to write; --list shows all.", autocompletion=opt.exports),
]


List = Annotated[bool, Option("--list", help="List the formats and the programs each was tested with.")]


LookFrom = Annotated[
    str | None,
    Option("--from", metavar="FILE|DIR", help="A capture, hwloc XML, saved audit or Machine JSON, or a fleet folder."),
]


ScopeOfExport = Annotated[
    Scope | None, Option("--scope", help="The workload to audit for, such as mpi; saved audits keep theirs.")
]


Prefix = Annotated[str, Option("--prefix", metavar="NAME", help="Prefix for the names that the export defines.")]


Include = Annotated[
    list[str] | None,
    Option("--include", metavar="WHAT", help="Add items that a format omits; --list names them.", callback=each_of),
]


Into = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE|DIR", help="Write to this file instead of the terminal; several files go into DIR."),
]


Check = Annotated[str | None, Option("--check", metavar="FILE", help="With slurm: compare this slurm.conf with the nodes.")]


CheckJson = Annotated[bool, Option("--json", help="With --check: print JSON with a schema version.")]


Tuned = Annotated[
    list[Path] | None, Option("--tuned", metavar="DIR", help="Show the race from this advisor tune folder; may be repeated.")
]


For = Annotated[
    Literal["internal", "vendor", "public"],
    Option("--for", help="vendor: withhold people, hosts and networks; public: withhold everything that identifies the machine."),
]


ContractFile = Annotated[
    Path | None,
    Option("--contract", metavar="FILE", help="Check against this acceptance contract; '--contract --example' prints one."),
]


Example = Annotated[bool, Option("--example", help="Print a sample contract.", hidden=True)]


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
    """Write one page for a ticket, or check an acceptance contract.

    The page has the verdict and the fixes first, then a drawing of the machine with its faults marked, measurements beside
    published figures, settings, the plan in the vendor's commands, launch lines, what could not be read, and every fact
    with its source. It is a single file without scripts or external content, for light and dark screens and paper. An idle
    machine is measured first, in under a minute; --no-measure, --full, --hpl and --network work as in audit. --from,
    --bios and --measurements take data captured elsewhere. --tuned shows the result of advisor tune. --only 1 covers
    one finding, for its own ticket; --as md is for tickets, --as json for programs; compare and audit read this JSON.

    With FLEET, a folder of captures, the page covers many nodes: findings by kind of hardware, what drifted, differs or
    is slow, and every node. --as parquet writes a table for analysts: a row per node that answered, a column per fact,
    figure and finding, without serial numbers, MACs or anything else that identifies a node.

    Credentials never appear; --for vendor withholds people, hosts and networks, --for public everything that identifies
    the machine, and the page lists what was withheld.

    --contract checks an acceptance contract against a machine, two states of one machine, or a fleet folder. Each line is
    marked passed, failed or not shown, with the command that would show it. --as junit is for CI. The exit status is 1 unless
    all lines pass.

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
        opt.keep_apart({"--only": bool(only), "--tuned": bool(tuned), "--for public": audience == "public"}, {"--contract": True})
        machines: list[str | None] = [str(each) for each in fleet or ()] or [source]
        measures = MeasureNow(not measurements, full, network, hpl, busy_ok) if measure and machines == [None] else None
        given = bios.read(watcher, here=machines == [None])
        kind = form_of(form, output, CONTRACT_FORMS)
        accepted = accept(contract, machines, scope, bios=given, measure=measures, audience=audience, **files)
        totals = ", ".join(f"{number} {verdict}" for verdict, number in accepted.totals().items())
        _write(accepted.text(kind), output, watcher, f"; {accepted.verdict}: {totals}")
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
    _write(made.text(kind), output, watcher)
    return 130 if made.audited.measured.interrupted else 0


def _write(page: str, output: Path | None, watcher: Terminal, verdict: str = "") -> int:
    """Print a page, or write it to a file and say so; return the exit status."""
    emit_text(page, output)
    if output is not None:
        watcher.say(f"wrote {output}{verdict}")
    return 0


def _fleet_report(places: list[Path], form: str | None, output: Path | None, scope: Scope, site: Sequence[Path]) -> int:
    """Write the page of a fleet, or its table."""
    if output is None and form != "html":
        raise BadValue("a fleet report needs an output file", cure="name it with -o fleet.html, or -o fleet.parquet for a table")
    named = form or (output.suffix[1:].lower() if output else "")
    kind = must_be_one_of("fleet report format", named, ("html", "parquet"), "available: html, parquet")
    if kind == "parquet":
        need_parquet()
    found = audit_fleet(places, scope, site=site, observer=Terminal())
    if output is None or kind == "html":
        return _write(found.html(scope), output, Terminal())
    written = parquet(columns(found))
    write_file(output, written)
    Terminal().say(f"wrote {output}")
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

    --list names every format, with the tool and version that accepted it. --from takes a capture, an hwloc XML, a fleet
    folder, or a saved audit (advisor audit --json), which is exported unchanged. No export contains serial numbers or hardware
    addresses. Your own templates in /etc/advisor/templates/export or ~/.config/advisor/templates/export are formats, too.
    docs/exports.md shows how to use each.

    slurm --check FILE compares a slurm.conf, its included files and its gres.conf with the nodes: it prints what differs,
    what that costs, and the corrected line. Exit status is 0 despite differences, unless --fail-on names a severity.

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
        raise BadValue("no format given", cure="see advisor export --list")
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
        raise BadValue("--check works only with slurm", cure=f"use advisor export slurm --check {file}")
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
    wishes: Annotated[list[str] | None, Argument(metavar="[WISH]...", help="nps=4,smt=off, or a finding's number.")] = None,
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

    WISH is a setting, such as nps=4 or nps=4,smt=off, or a finding's number or rule, which stands for the setting that the
    finding recommends. Prints the machine as its firmware would present it: NUMA nodes, SMT, the order of CPU numbers. What
    cannot be predicted is listed as unknown. -o writes the resulting machine as JSON, which every other command accepts with
    --from: bind, for example, can then make rankfiles to use after the restart.

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
        raise BadValue("no setting given", cure="name a setting, for example advisor whatif nps=4; see advisor whatif --help")
    return ",".join(texts)


One = Annotated[
    str, Argument(metavar="A", help="A machine ('-' is this one), measurements, another program's output, or a node.")
]


Other = Annotated[str, Argument(metavar="B", help="What to compare A with.")]


Fleet = Annotated[list[Path] | None, Argument(metavar="[FLEET...]", help="The folder of captures that contains nodes A and B.")]


ChangeForm = Annotated[
    Literal["html", "md"] | None,
    Option("--as", help="Write the page about two machines in this format; default: from the file's extension."),
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
    """Compare two machines, nodes, measurements or benchmark outputs.

    For two machines (captures, hwloc XML, Machine JSON, saved audits and reports, '-' for this one) or two nodes of FLEET it
    prints what differs, which findings are new or gone, and what was measured on both, if anything. Parts are matched by name: a
    changed NPS is one change, not one per NUMA node. Facts that only one side could read are not differences. --as html or md, or
    a file with that extension, makes a page for a ticket. With --fail-on, exit 1 if B has findings that A lacks.

    For two files from measure --save, or two folders of such files, one per boot, it prints what changed, with an exact p-value.
    For another benchmark program's output it prints the best figures of both side by side; --from says which machine it ran
    on, and --placed on which part of it.

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
        raise BadValue("--fail-on applies only to comparisons of machines", cure="drop it")
    show(Form(output, json, width, not no_color), found.document, lambda: [*found.pages(width)])
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != "never" else ()
    return int(found.difference is not None and any(each.severity in worst for each in found.difference.gained))


def _page_of(output: Path | None) -> Literal["html", "md"] | None:
    """Return the format that a file's name asks for; None is the terminal's page."""
    ending = output.suffix.lower() if output is not None else ""
    return "html" if ending in (".html", ".htm") else "md" if ending == ".md" else None
