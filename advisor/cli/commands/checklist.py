"""Print the tuning checklist of this machine, in its vendor's own words, to tick off.

Every line says what a setting is now, what it should be, the menu, attribute or command, why, how to check it, which
benchmark proves it, with what was published for this platform, and how to undo it; the order is such that one restart
serves all. With --platform it is the full list for hardware on order, and no machine is read. --as writes it as a page
(txt, md, html, json), or as files for your own tools: tuned, sysctl, kernel-cmdline, ansible, and racadm, ilorest,
onecli, sum or redfish for the BIOS. A template of your own in /etc/advisor/templates/checklist or
~/.config/advisor/templates/checklist is a format too. Nothing is ever changed here.

Group: Set it up
Example: advisor checklist
Example: advisor checklist --platform rome --vendor dell --as html -o rome.html
Example: advisor checklist --from node.tar.gz --todo --as racadm -o bios.sh
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.options import Bios, From, MeasurementsOption, NoColor, Output, Rules, ScopeOption, Width
from advisor.cli.pipeline import emit, emit_json, load, say, write_whole
from advisor.errors import BadValue

if TYPE_CHECKING:
    from advisor.cli.judgement import Judgement
    from advisor.know.proofs import Known
    from advisor.model.bios import Bios as BiosValues
    from advisor.model.checklist import Checklist
    from advisor.model.exports import Staging
    from advisor.model.machine import Machine
    from advisor.model.platform import Scope
    from advisor.model.vendor import Vendor

PlatformOption = Annotated[
    str | None, typer.Option("--platform", metavar="NAME", help="Hardware on order: rome, genoa, sapphire-rapids, ...")
]
VendorOption = Annotated[
    str | None, typer.Option("--vendor", metavar="NAME", help="Use this maker's words: dell, hpe, lenovo, supermicro, ...")
]
As = Annotated[str, typer.Option("--as", metavar="FORMAT", help="txt, md, html, json, or the name of a tool's format.")]
Todo = Annotated[bool, typer.Option("--todo", help="Leave out what is so already.")]


def run(
    *,
    source: From = None,
    platform: PlatformOption = None,
    vendor: VendorOption = None,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    bios: Bios = None,
    measurements: MeasurementsOption = None,
    form: As = "txt",
    todo: Todo = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Print the tuning checklist."""
    from advisor.cli.formats import template_of
    from advisor.cli.inputs import bios_from
    from advisor.know.vendors import vendor_by_id

    if platform is not None:
        _alone(source, measurements)
    template = template_of(form)
    given = bios_from(bios or ())
    words = vendor_by_id(vendor) if vendor is not None else None
    if platform is not None:
        checklist, words = _of_platform(platform, words, scope, rules or [], given)
    else:
        checklist, words, given = _of_machine(load(source), words, scope, rules or [], given, measurements=measurements)
    shown = checklist.todo() if todo else checklist
    if form == "json":
        from advisor.render.checklist import document

        emit_json(document(shown), output)
    elif template is None:
        from advisor.render.checklist import checklist_page

        emit([checklist_page(shown, width)], output, color=not no_color, width=width)
    else:
        _write(form, template, shown, output, made=_staged(checklist, words, given), words=words)


def _alone(source: str | None, measurements: list[Path] | None) -> None:
    """Refuse what is of a machine beside hardware that is none yet."""
    given = {"--from is a machine": source is not None, "--measurements are of one": bool(measurements)}
    for what in (words for words, is_given in given.items() if is_given):
        raise BadValue(f"--platform is hardware without a machine, {what}", cure="give one of the two")


def _staged(checklist: "Checklist", words: "Vendor", bios: "BiosValues | None") -> "Staging":
    from advisor.know.exports import staging
    from advisor.know.settings import settings

    return staging(checklist, settings(), words, bios)


def _of_platform(
    name: str, words: "Vendor | None", scope: "Scope", rules: list[Path], bios: "BiosValues | None"
) -> "tuple[Checklist, Vendor]":
    from advisor.cli.order import judged_platform, maker_of
    from advisor.know.checklist import Sheets, checklist_of
    from advisor.know.platforms import platform_by_id
    from advisor.know.publications import publications
    from advisor.know.settings import settings
    from advisor.know.vendors import FALLBACK, vendor_by_id

    platform = platform_by_id(name)
    words = words or vendor_by_id(FALLBACK)
    order = judged_platform(platform, words, scope, rules, bios=bios)
    sheets = Sheets(settings(), words, publications(), bios, maker_of(platform), order.hints, platform)
    return checklist_of(order.audit, sheets), words


def _of_machine(
    machine: "Machine",
    words: "Vendor | None",
    scope: "Scope",
    rules: list[Path],
    bios: "BiosValues | None",
    *,
    measurements: list[Path] | None,
) -> "tuple[Checklist, Vendor, BiosValues | None]":
    from advisor.cli.inputs import measurements_from
    from advisor.cli.judgement import judged
    from advisor.cli.order import maker_of
    from advisor.know.checklist import Sheets, checklist_of
    from advisor.know.publications import publications
    from advisor.know.settings import settings

    result = judged(machine, scope, rules, bios, measurements_from(measurements, machine))
    words, bios = words or result.vendor, bios or machine.bios
    sheets = Sheets(
        settings(), words, publications(), bios, maker_of(result.platform), platform=result.platform, known=_known(result)
    )
    return checklist_of(result.audit, sheets, _named(machine)), words, bios


def _known(result: "Judgement") -> "Known":
    """Return what decides which published results are likest this machine."""
    from advisor.know.proofs import Known

    cpu, shape, environment = result.machine.cpu, result.case.shape, result.case.environment
    virtual = environment is not None and environment.virtual not in (None, "none")
    return Known(cpu.model_name if cpu else None, shape.sockets if shape else None, virtual)


def _named(machine: "Machine") -> str:
    """Return the machine in words: its name and what it was sold as."""
    firmware = machine.firmware
    sold = " ".join(part for part in (firmware.system_vendor, firmware.product) if part) if firmware else ""
    return ", ".join(part for part in (machine.name, sold) if part) or "this machine"


def _write(form: str, template: str, checklist: "Checklist", output: Path | None, *, made: "Staging", words: "Vendor") -> None:
    from advisor import __version__
    from advisor.cli.formats import complaint, remarks
    from advisor.know.exports import system
    from advisor.know.settings import settings
    from advisor.render.checklist import values
    from advisor.render.document import fill

    refused = complaint(form, template, words)
    if refused:
        raise refused
    text = fill(template, values(checklist, made, system(checklist, settings()), __version__), f"{form}.j2")
    if output is None:
        say(text)
    else:
        write_whole(output, text.encode())
    for line in remarks(form, made, output):
        typer.echo(f"advisor: {line}", err=True)
