"""The formats of a checklist: the folder of templates is their list, and a site's own folders come before it."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadValue, CannotWork
from advisor.paths import templates

if TYPE_CHECKING:
    from advisor.model.audit.plan import Plan
    from advisor.model.audit.vendor import Redfish, Vendor

FOLDER = "checklist"
SITE_FOLDERS = (Path("~/.config/advisor/templates"), Path("/etc/advisor/templates"))
"""Where a site keeps templates of its own; the nearer wins."""

BUILT_IN = ("txt", "json", "plan")
"""Formats that no template makes: what fits a terminal, and what programs read."""

_LARGEST = 1 << 20


def found_templates(kind: str) -> dict[str, Path]:
    """Return the templates of a folder by name; a site's own come before ours."""
    found: dict[str, Path] = {}
    for folder in (templates(), *(folder.expanduser() for folder in reversed(SITE_FOLDERS))):
        found |= {path.name.removesuffix(".j2"): path for path in sorted((folder / kind).glob("*.j2"))}
    return found


def formats() -> dict[str, Path]:
    """Return every template by the name of its format."""
    return found_templates(FOLDER)


def template_of(name: str) -> str | None:
    """Return the template of a format, None for one that is built in; refuse a name that is none."""
    known = formats()
    if name in known:
        return template_text(known[name])
    if name in BUILT_IN:
        return None
    from advisor.cli.inputs import must_be_one_of

    names = (*BUILT_IN, *known)
    must_be_one_of("format", name, names, f"there are {', '.join(names)}")
    return None


def template_text(path: Path) -> str:
    """Return a template's text; refuse what is none."""
    try:
        if path.stat().st_size > _LARGEST:
            raise BadValue(f"{path} is larger than any template")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotWork(f"{path}: cannot be read as a template; {error}") from error


def complaint(name: str, template: str, vendor: "Vendor") -> BadValue | None:
    """Return why a format does not serve a maker, naming the one that does; None where it does."""
    from advisor.render.jinja import about

    for_whom = about(template).vendors
    if name == "redfish":
        return None if vendor.redfish else BadValue(f"no Redfish path is known for {vendor.name}", cure="take --as md")
    if not for_whom or vendor.id in for_whom:
        return None
    serving = [each for each, path in formats().items() if vendor.id in about(template_text(path)).vendors]
    better = serving[0] if serving else "redfish" if vendor.redfish else "md"
    cure = f"take --as {better}" if vendor.match else f"name the maker with --vendor {for_whom[0]}"
    return BadValue(f"{name} is a tool for {', '.join(for_whom)}, and this is {vendor.name}", cure=cure)


def remarks(name: str, plan: "Plan", vendor: "Vendor", output: Path | None) -> Iterator[str]:
    """Yield what a format cannot say in the file itself: JSON has no comments."""
    if name != "redfish" or vendor.redfish is None:
        return
    redfish = vendor.redfish
    if plan.writes:
        yield from _staged(plan, redfish, output)
    else:
        yield "there is nothing to stage this way"
    from advisor.render.checklist.exports import untouched

    if plan.look_up_with:
        yield f"look up first, all at once: curl -n https://BMC{redfish.bios}"
    for heading, lines in untouched(plan):
        yield from (f"{heading}: {line}" for line in lines)


def _staged(plan: "Plan", redfish: "Redfish", output: Path | None) -> Iterator[str]:
    """Yield how a body is staged and taken back."""
    from advisor.render.commandline import word

    bmc = f"https://BMC{redfish.settings}"
    yield f"save the present values first: curl -f -k -n https://BMC{redfish.bios} -o bios-before.json"
    headers = {"Content-Type": "application/json", **redfish.headers}
    words = [f"-H {shlex.quote(f'{key}: {value}')}" for key, value in headers.items()]
    file = word(str(output or "FILE"))
    yield f"stage it: curl -k -n -X PATCH {' '.join(words)} -d @{file} {bmc}"
    yield from redfish.notes
    undo = {back.attribute: back.value for change in plan.writes for back in change.back if back.value is not None}
    if undo:
        yield f"the way back, as a body: {json.dumps({'Attributes': undo, **redfish.apply}, ensure_ascii=True)}"
    data = f'{{"ResetType": "{redfish.reset_type}"}}'
    yield (
        "then, drained, restart: curl -k -n -X POST -H 'Content-Type: application/json' "
        f"-d {shlex.quote(data)} https://BMC{redfish.reset}"
    )
