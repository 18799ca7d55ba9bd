"""Print the tuning checklist of this machine, with its vendor's own names, to tick off.

A line a step: what is to be done, with the audit's numbers; what is not known, with the one command that reads it; what is
right, folded. -v prints everything of each step: why, how to check it, which benchmark proves it, with the published value
for this platform, undo and sources. --todo prints what is known to be wrong, --only 1 one finding. With --platform or
--cpu it is the list for hardware on order, the table of BIOS settings first, and no machine is read. --as writes it as a
page (txt, md, html, json), or as files for your own tools: tuned, sysctl, kernel-cmdline, ansible, and racadm, ilorest,
onecli, sum or redfish for the BIOS. Those files hold findings alone: values that are known to differ from the recommended
ones, where no guide contradicts; --include unknown and --include contested add the rest, marked. --as plan is the plan
behind them as JSON. A template of your own in /etc/advisor/templates/checklist or ~/.config/advisor/templates/checklist is
a format too. Nothing is ever changed here.

Group: Set it up
Example: advisor checklist
Example: advisor checklist --cpu "EPYC 7702" --vendor dell --as html -o rome.html
Example: advisor checklist --from node.tar.gz --only 1 --as racadm -o bios.sh
"""

from dataclasses import replace
from pathlib import Path

from advisor.advice.checklist import Ordered, TuningChecklist, checklist, formats_told, template_of
from advisor.cli import options as opt
from advisor.cli.bmc_options import NO_BIOS, GivenBios, reads_bios
from advisor.cli.output import Form, Terminal, emit, emit_json, emit_text, say
from advisor.errors import BadValue


@reads_bios
def run(
    *,
    source: opt.From = None,
    platform: opt.OrderedPlatform = None,
    cpu: opt.OrderedCpu = None,
    vendor: opt.VendorName = None,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: opt.MeasurementsOption = None,
    form: opt.Format = "txt",
    include: opt.Include = None,
    todo: opt.Todo = False,
    only: opt.Only = None,
    verbose: opt.ChecklistVerbose = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Print the tuning checklist."""
    if form == "help":
        return say("".join(f"{name:<16} {what}\n" for name, what in formats_told().items()))
    template_of(form)  # a format that is none is refused before the machine is read
    order, observer = platform is not None or cpu is not None, Terminal()
    if order:
        _alone(source, measurements)
    found = checklist(
        Ordered(platform, cpu) if order else source,
        scope,
        vendor=vendor,
        site=rules or (),
        bios=bios.read(observer, here=source is None and not order),
        measurements=measurements or (),
        include=include or (),
        only=only or (),
        observer=observer,
    )
    found = replace(found, again=_again({"--from": source, "--platform": platform, "--cpu": cpu}))
    return _show(found.todo() if todo else found, form, Form(output, width=width, color=not no_color), verbose=verbose)


def _again(asked: dict[str, str | None]) -> tuple[str, ...]:
    """Return the words that ask for the same list once more."""
    return tuple(word for name, value in asked.items() if value for word in (name, value))


def _alone(source: str | None, measurements: list[Path] | None) -> None:
    """Refuse what is of a machine beside hardware that is none yet."""
    others = {"--from is a machine": source is not None, "--measurements are of one": bool(measurements)}
    for what in (words for words, is_given in others.items() if is_given):
        raise BadValue(f"--platform is hardware without a machine, {what}", cure="give one of the two")


def _show(found: TuningChecklist, name: str, form: Form, *, verbose: bool) -> None:
    """Print the list, the plan, or a file for a tool with what its format cannot say in it."""
    from advisor.advice.checklist_page.exports import remarks
    from advisor.advice.checklist_page.page import checklist_page

    if template_of(name) is not None:  # a site's own may be called as one that is built in
        emit_text(found.text(name), form.output)
        for line in remarks(name, found.plan, found.vendor, form.output):
            Terminal().say(line)
    elif name == "txt":
        page = checklist_page(found.sheet, form.width, verbose=verbose, formats=found.scripts)
        emit([page], form.output, color=form.color, width=form.width)
    else:
        emit_json(found.document() if name == "json" else found.plan_document(), form.output)
