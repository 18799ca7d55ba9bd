"""Keeps and reads the record of what a BIOS was before something was staged."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput, BadValue
from advisor.work.bmc.read import now

if TYPE_CHECKING:
    from advisor.model.audit.bios_change import BiosRecord
    from advisor.model.hardware.firmware import Scalar
    from advisor.plan.draft import FirmwareState
    from advisor.work.bmc.read import BiosReading


def save_record(place: Path, record: "BiosRecord", *, new: bool = False) -> None:
    """Write a record to disk, readable for its owner alone; a new one never takes the place of another."""
    from advisor.host.files import write_file

    if new and str(place) == "-":
        raise BadValue("a record is a file, and - is standard output", cure="name one: --record before.json")
    there = place.exists() or place.is_symlink()
    if new and there and not _holds_nothing_more(place, record):
        raise BadInput("is there already, and may be what brings another change back", file=str(place), cure="name a new file")
    data = (json.dumps(record.model_dump(mode="json"), indent=1) + "\n").encode()
    write_file(place, data, private=True, durable=True, new=new and not there)


def _holds_nothing_more(place: Path, record: "BiosRecord") -> bool:
    """Return whether a file is the record of the same server as it still is: staging was begun, and nothing came of it."""
    try:
        there = load_record(place)
    except BadInput:
        return False
    kept = {"applied", "owner", "asked"}
    return there.outcome == "begun" and there.model_dump(include=kept) == record.model_dump(include=kept)


def record_of(
    reading: "BiosReading", ground: "FirmwareState", asked: "Mapping[str, Scalar]", moves: "Mapping[str, Scalar | None]"
) -> "BiosRecord":
    """Return all that a BIOS is now, what is asked of it, and what else may move with that."""
    from advisor.model.audit.bios_change import BiosRecord

    return BiosRecord(
        format="advisor-bios-record/1",
        at=now(),
        bmc=reading.bmc,
        verified=reading.verified,
        owner=reading.owner,
        registry=reading.bios.registry,
        applied=reading.bios.attributes,
        asked=dict(asked),
        moves=dict(moves),
        vendor=ground.vendor.id,
        platform=ground.platform,
        by_hand=by_hand(reading, ground, (*asked, *moves)),
    )


def by_hand(reading: "BiosReading", ground: "FirmwareState", names: "Iterable[str]") -> tuple[str, ...]:
    """Return how to go back without advisor: the PATCH by curl, and the vendor's own commands where its sheet has them."""
    before = {name: now for name in dict.fromkeys(names) if (now := reading.bios.attributes.get(name)) is not None}
    link = reading.raw.settings_link
    if not before or link is None:
        return ()
    body = shlex.quote(json.dumps({"Attributes": before, **reading.raw.apply_time}))
    base = reading.bmc if "://" in reading.bmc else f"https://{reading.bmc}"
    head = "-H 'Content-Type: application/json' -H 'If-Match: *'"
    return (
        "# With curl, which asks for the password; it takes effect at the next restart:",
        f"curl --cacert CA.pem -u USER -X PATCH {head} -d {body} {shlex.quote(base + link)}",
        *_by_vendor(ground, before),
    )


def _by_vendor(ground: "FirmwareState", before: "Mapping[str, Scalar]") -> "Iterator[str]":
    from advisor.model.audit.plan import Target, edit_instruction, filled_lines

    tools = ground.vendor.tools
    known = {each.attribute: each for many in ground.vendor.settings.values() for each in many if each.attribute}
    grouped = any("{group}" in line for line in tools.set)
    targets = tuple(
        Target(name, value, entry.group, entry.label, entry.menu)
        for name, value in before.items()
        if (entry := known.get(name)) is not None and (entry.group or not grouped)
    )
    if not targets:
        return
    yield f"# Or with the tools of {ground.vendor.name}, on the server itself:"
    yield from filled_lines((*tools.prepare, *tools.set), targets)
    yield from (f"# {edit_instruction(tools.edit, each)}" for each in targets if tools.edit)
    left = before.keys() - {each.attribute for each in targets}
    yield from (f"# not by these, for its name there is not known: {name}" for name in sorted(left))
    if tools.apply:
        yield "# This may restart the server at once; drain it first:"
        yield from filled_lines(tools.apply, targets)


def load_record(path: Path) -> "BiosRecord":
    """Return a record; refuse what is none."""
    from pydantic import ValidationError

    from advisor.model.audit.bios_change import BiosRecord
    from advisor.work.bios import text_of

    text = text_of(path, 4 << 20, "any record", absent="advisor bios stage writes one before its first write")
    try:
        return BiosRecord.model_validate_json(text)
    except ValidationError as error:
        cure = "give the file that advisor bios stage wrote"
        raise BadInput("no record of advisor bios stage", file=str(path), cure=cure) from error


def record_name(bmc: str, doing: str) -> Path:
    """Return where a record goes that nobody named: into this folder, by BMC and time."""
    host = re.sub(r"[^A-Za-z0-9.]+", "-", bmc)
    return Path(f"bios-{doing}-{host}-{now().replace(':', '')}.json")
