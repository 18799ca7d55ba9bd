"""The options of the commands: first those that several share, then those of one with many; of jobs see job_options."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

from typer import Argument, Option

from advisor.cli.output import Form
from advisor.errors import AdvisorError, BadValue
from advisor.measure.platform import IntentName, Scope

Offers = list[tuple[str, str]]


def _beginning(with_: str, offers: Iterable[tuple[str, str]]) -> Offers:
    return [(name, " ".join(what.split())) for name, what in offers if name.startswith(with_)]


def formats(incomplete: str) -> Offers:
    """Offer the formats of the checklist."""
    from advisor.advice.checklist import formats_told

    return _beginning(incomplete, formats_told().items())


def report_formats(incomplete: str) -> Offers:
    """Offer the formats of the report."""
    forms = (("html", "one page"), ("md", "for tickets"), ("json", "for programs and for later comparison"))
    return _beginning(incomplete, (*forms, ("parquet", "a table of a fleet's nodes")))


def exports(incomplete: str) -> Offers:
    """Offer the formats of advisor export."""
    from advisor.exports.export import formats as known

    return _beginning(incomplete, ((name, each.title) for name, each in known().items()))


def platforms(incomplete: str) -> Offers:
    """Offer the platforms that can be on order."""
    from advisor.measure.platform import platforms as known

    return _beginning(incomplete, ((each.id, each.name) for each in known()))


def vendors(incomplete: str) -> Offers:
    """Offer the vendors that have a sheet."""
    from advisor.advice.know.vendors import vendors as known

    return _beginning(incomplete, ((name, each.name) for name, each in known().items()))


def launchers(incomplete: str) -> list[str]:
    """Offer the launchers."""
    from advisor.jobs.launcher import names

    return [name for name in names() if name.startswith(incomplete)]


def starting(incomplete: str) -> list[str]:
    """Offer the launchers that start ranks themselves."""
    from advisor.jobs.launcher import names

    return [name for name in names(starting=True) if name.startswith(incomplete)]


def strategies(incomplete: str) -> list[str]:
    """Offer the ways to place ranks."""
    from advisor.jobs.placement import STRATEGIES

    return [name for name in ("auto", *STRATEGIES) if name.startswith(incomplete)]


def topics(incomplete: str) -> list[str]:
    """Offer the topics of rules."""
    from advisor.advice.judgement import own_rules

    return [name for name in dict.fromkeys(rule.topic for rule in own_rules(examples=False).rules) if name.startswith(incomplete)]


def parts_and_topics(incomplete: str) -> list[str]:
    """Offer the parts and topics of a whole audit."""
    from advisor.advice.audit_page.screen import PARTS

    return [*(name for name in PARTS if name.startswith(incomplete)), *topics(incomplete)]


def rules(incomplete: str) -> Offers:
    """Offer the ids of rules."""
    from advisor.advice.judgement import own_rules

    return _beginning(incomplete, ((rule.id, rule.text.title) for rule in own_rules(examples=False).rules))


def rules_and_topics(incomplete: str) -> Offers:
    """Offer what names rules."""
    return [*((name, "topic") for name in topics(incomplete)), *rules(incomplete)]


def findings(ctx: Any, incomplete: str) -> Offers:
    """Offer the numbers of the findings of the machine that the line names, and the ids of rules."""
    numbers = _numbers(ctx.params) if not incomplete or incomplete.isdecimal() else []
    return [*_beginning(incomplete, numbers), *(rules(incomplete) if not incomplete.isdecimal() else [])]


def _numbers(given: dict[str, Any]) -> Offers:
    from advisor.advice.audit import audit

    bios, measurements_ = (tuple(given.get(name) or ()) for name in ("bios", "measurements"))
    source, scope, site = given.get("source"), given.get("scope", "mpi"), given.get("rules") or ()
    try:
        found = audit(source, scope, site=site, bios=bios, measurements=measurements_)
    except (AdvisorError, OSError):
        return []
    titles = {each.id: each.title for each in found.audit.found}
    return [(str(number), titles.get(rule, rule)) for rule, number in found.numbers.items()]


def measurements(incomplete: str) -> Offers:
    """Offer what can be measured."""
    from advisor.measure.contract import read_kernels
    from advisor.measure.plan import PLANS, SETS

    kernels = ((name, sheet.summary) for name, sheet in read_kernels().sheets.items() if name not in PLANS)
    return _beginning(incomplete, [*((name, "") for name in PLANS if name not in SETS), ("show", "saved results"), *kernels])


def charts(incomplete: str) -> list[str]:
    """Offer the charts of measurements."""
    from advisor.measure.charts import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


def each_of(words: list[str] | None) -> list[str] | None:
    """Return the words of an option that may be repeated, or holds several with commas between: --only 1,3."""
    return [one for word in words for one in word.split(",") if one] if words else words


From = Annotated[
    str | None,
    Option("--from", metavar="FILE", help="Read another machine: a capture, hwloc XML, Machine JSON, or a /sys + /proc root."),
]
MayBeFleet = Annotated[
    list[Path] | None,
    Argument(metavar="[FLEET...]", help="A folder of captures, or several capture files: many nodes instead of one machine."),
]
Json = Annotated[bool, Option("--json", help="Print JSON with a schema version (docs/json.md).")]
Output = Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Write to this file instead of the terminal.")]
NoColor = Annotated[bool, Option("--no-color", help="Print without colours, as NO_COLOR in the environment does.")]
Width = Annotated[
    int | None,
    Option("--width", metavar="N", min=40, max=1000, help="Format for N columns instead of the terminal's width."),
]


def with_several(run: Callable[..., Any], name: str, several: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that has several options in the place of one of its parameters, which takes what is made of them."""
    shared = inspect.signature(several).parameters
    options: list[inspect.Parameter] = []
    for each in inspect.signature(run).parameters.values():
        options += shared.values() if each.name == name else [each]

    def command(**given: Any) -> Any:
        """Run the command."""
        made = several(**{each: given.pop(each) for each in shared})
        return run(**given, **{name: made})

    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined] # typer reads options there
    command.__annotations__ = {each.name: each.annotation for each in options}
    command.__module__ = run.__module__
    return command


def _form(*, json: Json = False, output: Output = None, width: Width = None, no_color: NoColor = False) -> Form:
    """Return what the options that every page has say of it."""
    return Form(output, json, width, not no_color)


def has_form(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --json, --output, --width and --no-color; it takes them as ``form``."""
    return with_several(run, "form", _form)


Rules = Annotated[
    list[Path] | None, Option("--rules", metavar="FILE", help="Add your site's rule file or folder; may be repeated.")
]
Topic = Annotated[
    list[str] | None,
    Option(
        "--topic",
        metavar="TOPIC",
        help="Only rules on this topic; may be repeated.",
        autocompletion=topics,
        callback=each_of,
    ),
]
ScopeOption = Annotated[Scope, Option("--scope", help="The workload to tune for; guides differ by workload.")]
ForOption = Annotated[
    IntentName | None,
    Option("--for", help="The server's workload, which decides between guides that disagree; each guide used is named."),
]


def scope_for(purpose: IntentName | None, scope: Scope) -> Scope:
    """Return the scope that an intent is judged for; refuse one beside it that is of other work."""
    from advisor.advice.know.fixes import intents

    own = intents()[purpose].scope if purpose else scope
    if scope not in ("mpi", own):
        raise BadValue(f"--for {purpose} implies --scope {own}, but --scope is {scope}", cure="leave --scope out")
    return own


MeasurementsOption = Annotated[
    list[Path] | None,
    Option(
        "--measurements",
        metavar="FILE",
        help="Use results of advisor measure, or output of STREAM, HPL, OSU ...; may be repeated.",
    ),
]
MeasuredMachine = Annotated[
    str | None,
    Option(
        "--from",
        metavar="FILE",
        help="The machine that was measured: a capture, hwloc XML, Machine JSON; - means this machine.",
    ),
]

Placed = Annotated[
    str | None,
    Option(
        "--placed",
        metavar="PART",
        help="Where the benchmark ran: machine, socket 0, numa 6, l3 2, core 5, cpus 0-15, or hosts (between two hosts).",
    ),
]
Version = Annotated[str | None, Option("--launcher-version", metavar="V", help="The launcher's version: 4.1.5.")]
Repeats = Annotated[int | None, Option("--repeats", metavar="N", min=1, max=1000, help="Number of repeats of each measurement.")]
BusyOk = Annotated[bool, Option("--busy-ok", help="Measure even a busy machine; the results say so.")]
Save = Annotated[Path | None, Option("--save", metavar="FILE", help="Save the measurements to this file, as JSON.")]
PageOrLines = Annotated[
    Path | None,
    Option(
        "--output", "-o", metavar="PATH", help="Write a page to this file; with --dry-run, write the commands to this folder."
    ),
]
Steps = Annotated[bool, Option("--verbose", "-v", help="Print each command to standard error as it runs.")]
Bios = Annotated[
    list[Path] | None,
    Option(
        "--bios",
        metavar="FILE",
        help="A saved Redfish Bios resource; repeat for its pending Settings and its attribute registry.",
    ),
]

# advisor audit
AuditMeasure = Annotated[
    bool,
    Option("--measure/--no-measure", help="Measure the machine first, if it is idle; takes under a minute; not with --from."),
]
AuditNetwork = Annotated[
    str | None, Option("--network", metavar="A,B", help="Measure message rates between these two hosts too; takes minutes.")
]
AuditHpl = Annotated[bool, Option("--hpl", help="Measure HPL on this machine too (adds about a minute).")]
AuditFull = Annotated[
    bool,
    Option(
        "--full",
        help="Measure everything, with HPL in most of the free memory; takes many minutes; an estimate is printed first.",
    ),
]
AuditVerbose = Annotated[bool, Option("--verbose", "-v", help="Print every verdict, setting and fact, with its sources.")]
AuditShow = Annotated[
    list[str] | None,
    Option(
        "--show",
        metavar="WHAT",
        help="Print only this part of -v: findings, settings, unknown, passed, facts, or a topic (memory); may be repeated.",
        autocompletion=parts_and_topics,
        callback=each_of,
    ),
]
AuditLimit = Literal["high", "medium", "low", "info", "never"]
AuditFailOn = Annotated[AuditLimit, Option("--fail-on", help="Exit 1 on any finding of this severity or above.")]

# advisor checklist
OrderedPlatform = Annotated[
    str | None,
    Option("--platform", metavar="NAME", help="Hardware on order: rome, genoa, sapphire-rapids, ...", autocompletion=platforms),
]
OrderedCpu = Annotated[
    str | None,
    Option("--cpu", metavar="MODEL", help='Hardware on order, by processor model: "EPYC 7702". The model selects NPS or SNC.'),
]
Include = Annotated[
    list[str] | None,
    Option(
        "--include",
        metavar="WHAT",
        help="Also write settings that tool files omit: unknown (current value not read), contested (guides differ).",
    ),
]
VendorName = Annotated[
    str | None,
    Option(
        "--vendor",
        metavar="NAME",
        help="Use this vendor's setting names: dell, hpe, lenovo, supermicro, ...",
        autocompletion=vendors,
    ),
]
Format = Annotated[
    str,
    Option(
        "--as",
        metavar="FORMAT",
        help="txt, md, html, json, or a tool's format; --as help lists all, one per line.",
        autocompletion=formats,
    ),
]
ReportFormat = Annotated[
    str | None,
    Option(
        "--as",
        metavar="FORMAT",
        help="html, md or json; for a fleet html or parquet; default: by the file's extension.",
        autocompletion=report_formats,
    ),
]
Todo = Annotated[bool, Option("--todo", help="Print only what is known to be wrong.")]
Only = Annotated[
    list[str] | None,
    Option(
        "--only",
        metavar="N|ID",
        help="Only this finding, by the audit's number or the rule's id; may be repeated.",
        autocompletion=findings,
        callback=each_of,
    ),
]
ChecklistVerbose = Annotated[
    bool, Option("--verbose", "-v", help="Print the reason, check, undo and source of every step, and every collapsed line.")
]

# advisor verify
VerifyWords = Annotated[
    list[str] | None, Argument(metavar="[DIR | -- LINE]", help="A folder from bind, or a launch line with {} as the program.")
]
PlanFile = Annotated[str | None, Option("--plan", metavar="FILE", help="The plan.json of advisor bind; - is standard input.")]
Observed = Annotated[
    str | None, Option("--observed", metavar="FILE", help="Check probe output saved in a file; - is standard input.")
]
Pids = Annotated[list[str] | None, Option("--pid", metavar="PID[,PID]...", help="Check running processes.")]
ProgramName = Annotated[str | None, Option("--job", metavar="NAME", help="Check every running process of this program.")]
Then = Annotated[
    bool, Option("--then", help="Start the application if every rank is placed as planned; otherwise exit with status 1.")
]
PrintProlog = Annotated[
    bool, Option("--print-prolog", help="Print the probe as a Slurm TaskProlog: each task reports where it runs, then starts.")
]
PrintProbe = Annotated[bool, Option("--print-probe", help="Print the probe script, to be run by every rank of a job.")]
Timeout = Annotated[
    float, Option("--timeout", metavar="SECONDS", min=1, max=86400, help="Stop the launcher after this many seconds.")
]


# advisor whatif
class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


class Order(StrEnum):
    """How the firmware lists the cores."""

    LINEAR = "linear"
    ROUND_ROBIN = "round-robin"


class Interleaving(StrEnum):
    """How EPYC 7001 interleaves memory."""

    CHANNEL = "channel"
    DIE = "die"
    SOCKET = "socket"


Nps = Annotated[
    int | None, Option("--nps", metavar="N", min=0, max=4, help="NUMA nodes per socket on EPYC 7002 and later: 0, 1, 2 or 4.")
]
L3 = Annotated[Switch | None, Option("--l3-as-node", help="Each L3 group as a NUMA node (EPYC 7002 and later).")]
Interleave = Annotated[Interleaving | None, Option("--interleave", help="Memory interleaving on EPYC 7001.")]
Snc = Annotated[str | None, Option("--snc", metavar="N|off", help="Sub-NUMA clustering (SNC) on Xeon: 2, 3, 4, off.")]
Cod = Annotated[Switch | None, Option("--cod", help="Cluster on die (COD) on Haswell and Broadwell.")]
Smt = Annotated[Switch | None, Option("--smt", help="Hardware threads (SMT) of the cores.")]
Enumeration = Annotated[Order | None, Option("--enumeration", help="Order of CPU numbers: how the firmware lists the cores.")]


def at_most_one(given: dict[str, bool]) -> None:
    """Refuse options that do not go together."""
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise BadValue(f"{names[0]} and {names[1]} cannot be combined", cure="give one of the two")


def keep_apart(some: dict[str, bool], others: dict[str, bool]) -> None:
    """Refuse an option of some beside any of the others."""
    for name, given in some.items():
        for other, is_other in others.items():
            at_most_one({other: is_other, name: given})


def must_be_fleet(places: Sequence[Path]) -> None:
    """Refuse one machine, or the number of a finding, in the place of a fleet."""
    one = str(places[0])
    if len(places) == 1 and one.isdecimal() and not places[0].exists():
        raise BadValue(f"{one[:60]} is not a fleet folder", cure=f"choose a finding with --only {one[:60]}")
    if len(places) == 1 and places[0].is_file():
        raise BadValue(f"{one} is one machine", cure=f"name it with --from {quote(one)}")


def same_view(source: str | None, scope: str, files: Mapping[str, Iterable[Path] | None]) -> tuple[str, ...]:
    """Return the options with which another command sees the same: its findings have the same numbers then."""
    named = (word for option, paths in files.items() for path in paths or () for word in (option, str(path)))
    return (*(() if source is None else ("--from", source)), *(("--scope", scope) if scope != "mpi" else ()), *named)
