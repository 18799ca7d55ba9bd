"""Print the tuning checklist of this machine, with its vendor's own names, to tick off.

Every step has the present value of a setting, the recommended one, the menu, attribute or command, why, how to check it,
which benchmark proves it, with the published value for this platform, and how to undo it; one restart serves all. With
--platform or --cpu it is the full list for hardware on order, and no machine is read. --as writes it as a page (txt, md,
html, json), or as files for your own tools: tuned, sysctl, kernel-cmdline, ansible, and racadm, ilorest, onecli, sum or
redfish for the BIOS. Those files hold findings alone: values that are known to differ from the recommended ones, where no
guide contradicts; --include unknown and --include contested add the rest, marked. --as plan is the plan behind them as
JSON. A template of your own in /etc/advisor/templates/checklist or ~/.config/advisor/templates/checklist is a format too.
Nothing is ever changed here.

Group: Set it up
Example: advisor checklist
Example: advisor checklist --cpu "EPYC 7702" --vendor dell --as html -o rome.html
Example: advisor checklist --from node.tar.gz --todo --as racadm -o bios.sh
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from advisor.cli.options import Bios, From, MeasurementsOption, NoColor, Output, Rules, ScopeOption, Width
from advisor.errors import BadValue
from advisor.work.machine import emit, emit_json, load, say, write_whole

if TYPE_CHECKING:
    from advisor.know.benchmarks import Known
    from advisor.model.audit.checklist import Checklist
    from advisor.model.audit.plan import Include, Plan, WantedSetting
    from advisor.model.audit.platform import Scope
    from advisor.model.audit.vendor import Vendor
    from advisor.model.hardware.firmware import Bios as BiosValues
    from advisor.model.hardware.machine import Machine
    from advisor.work.bios import BiosInput
    from advisor.work.judgement import Judgement

PlatformOption = Annotated[
    str | None, typer.Option("--platform", metavar="NAME", help="Hardware on order: rome, genoa, sapphire-rapids, ...")
]
CpuOption = Annotated[
    str | None,
    typer.Option("--cpu", metavar="MODEL", help='Hardware on order, by its processor: "EPYC 7702". It decides NPS or SNC.'),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="WHAT",
        help="Add to files for tools what they leave out: unknown (present values), contested (by guides).",
    ),
]
VendorOption = Annotated[
    str | None, typer.Option("--vendor", metavar="NAME", help="Use this vendor's names: dell, hpe, lenovo, supermicro, ...")
]
As = Annotated[str, typer.Option("--as", metavar="FORMAT", help="txt, md, html, json, or the name of a tool's format.")]
Todo = Annotated[bool, typer.Option("--todo", help="Leave out what is done already.")]


class Made(NamedTuple):
    """A checklist, the wishes of its lines, in whose words it is, and the BIOS that the machine's own capture has."""

    checklist: "Checklist"
    wishes: "tuple[WantedSetting, ...]"
    words: "Vendor"
    bios: "BiosValues | None"


def run(
    *,
    source: From = None,
    platform: PlatformOption = None,
    cpu: CpuOption = None,
    vendor: VendorOption = None,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    bios: Bios = None,
    measurements: MeasurementsOption = None,
    form: As = "txt",
    include: IncludeOption = None,
    todo: Todo = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Print the tuning checklist."""
    from advisor.know.vendors import vendor_by_id
    from advisor.plan.checklist import with_plan
    from advisor.work.bios import firmware_from
    from advisor.work.checklist import planned, template_of, with_apply_time, with_bios

    order = platform is not None or cpu is not None
    if order:
        _alone(source, measurements)
    template = template_of(form)
    given = firmware_from(bios or ())
    words = vendor_by_id(vendor) if vendor is not None else None
    if order:
        made = _of_order((platform, cpu), words, scope, rules or [], given)
    else:
        made = _of_machine(load(source), words, scope, rules or [], given, measurements=measurements)
    checklist, wishes, words, own = made
    plan = planned(checklist, wishes, words, with_bios(given, own), _included(include), order=order)
    shown = with_plan(checklist, plan, words)
    words = with_apply_time(words, given)
    _print(form, template, shown.todo() if todo else shown, plan, words=words, output=output, width=width, color=not no_color)


def _included(words: list[str] | None) -> "list[Include]":
    from advisor.model.audit.plan import INCLUDES
    from advisor.work.bios import must_be_one_of

    asked = [must_be_one_of("such --include:", word, INCLUDES, f"there are {', '.join(INCLUDES)}") for word in words or ()]
    return [word for word in INCLUDES if word in asked]


def _print(
    form: str,
    template: str | None,
    shown: "Checklist",
    plan: "Plan",
    *,
    words: "Vendor",
    output: Path | None,
    width: int | None,
    color: bool,
) -> None:
    """Print the list, the plan, or a file for a tool."""
    if template is not None:
        _write(form, template, shown, output, plan=plan, words=words)
    elif form == "json":
        from advisor.render.checklist.page import checklist_document

        emit_json(checklist_document(shown), output)
    elif form == "plan":
        from advisor.work.checklist import document as whole

        emit_json(whole(plan), output)
    else:
        from advisor.render.checklist.page import checklist_page

        emit([checklist_page(shown, width)], output, color=color, width=width)


def _alone(source: str | None, measurements: list[Path] | None) -> None:
    """Refuse what is of a machine beside hardware that is none yet."""
    others = {"--from is a machine": source is not None, "--measurements are of one": bool(measurements)}
    for what in (words for words, is_given in others.items() if is_given):
        raise BadValue(f"--platform is hardware without a machine, {what}", cure="give one of the two")


def _of_order(
    named: tuple[str | None, str | None], words: "Vendor | None", scope: "Scope", rules: list[Path], given: "BiosInput"
) -> "Made":
    from advisor.know.checklist import Sheets, checklist_with
    from advisor.know.platforms import platform_on_order
    from advisor.know.settings import settings
    from advisor.know.vendors import FALLBACK, publications, vendor_by_id
    from advisor.work.checklist import must_fit
    from advisor.work.judgement import judged_platform, maker_of

    platform, model = platform_on_order(*named)
    _flag(must_fit(given, words, platform.id))
    words = words or vendor_by_id(FALLBACK)
    order = judged_platform(platform, words, scope, rules, bios=given.bios, model=model)
    sheets = Sheets(
        settings(), words, publications(), given.bios, maker_of(platform), order.hints, platform=platform, decided=order.decided
    )
    return Made(*checklist_with(order.audit, sheets), words, None)


def _of_machine(
    machine: "Machine",
    words: "Vendor | None",
    scope: "Scope",
    rules: list[Path],
    given: "BiosInput",
    *,
    measurements: list[Path] | None,
) -> "Made":
    from advisor.know.checklist import Sheets, checklist_with
    from advisor.know.settings import settings
    from advisor.know.vendors import publications
    from advisor.work.bios import measurements_from
    from advisor.work.checklist import must_fit
    from advisor.work.judgement import judged, maker_of

    result = judged(machine, scope, rules, given.bios, measurements_from(measurements, machine))
    words, bios = words or result.vendor, given.bios or machine.bios
    _flag(must_fit(given, words, result.audit.platform_id, machine.firmware))
    sheets = Sheets(
        settings(), words, publications(), bios, maker_of(result.platform), platform=result.platform, known=_known(result)
    )
    return Made(*checklist_with(result.audit, sheets, _named(machine)), words, bios)


def _flag(line: str | None) -> None:
    if line:
        typer.echo(f"advisor: {line}", err=True)


def _known(result: "Judgement") -> "Known":
    """Return what decides which published results are likest this machine."""
    from advisor.know.benchmarks import Known

    cpu, shape, environment = result.machine.cpu, result.case.shape, result.case.environment
    virtual = environment is not None and environment.virtual not in (None, "none")
    return Known(cpu.model_name if cpu else None, shape.sockets if shape else None, virtual)


def _named(machine: "Machine") -> str:
    """Return the machine in words: its name and what it was sold as."""
    firmware = machine.firmware
    sold = " ".join(part for part in (firmware.system_vendor, firmware.product) if part) if firmware else ""
    return ", ".join(part for part in (machine.name, sold) if part) or "this machine"


def _write(form: str, template: str, checklist: "Checklist", output: Path | None, *, plan: "Plan", words: "Vendor") -> None:
    from advisor import __version__
    from advisor.render.checklist.exports import values
    from advisor.render.jinja import fill
    from advisor.work.checklist import complaint, remarks

    refused = complaint(form, template, words)
    if refused:
        raise refused
    text = fill(template, values(checklist, plan, words, __version__), f"{form}.j2")
    if output is None:
        say(text)
    else:
        write_whole(output, text.encode())
    for line in remarks(form, plan, words, output):
        typer.echo(f"advisor: {line}", err=True)
