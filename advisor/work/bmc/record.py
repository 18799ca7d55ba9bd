"""Keeps and reads the record of what a BIOS was before something was staged."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput
from advisor.work.bmc.read import now

if TYPE_CHECKING:
    from advisor.model.audit.bios_change import BiosRecord


def save_record(place: Path, record: "BiosRecord", *, new: bool = False) -> None:
    """Write a record to disk, readable for its owner alone; a new one never takes the place of another."""
    from advisor.host.files import write_file

    if new and (place.exists() or place.is_symlink()) and not _holds_nothing_more(place, record):
        raise BadInput("is there already, and may be what brings another change back", file=str(place), cure="name a new file")
    write_file(place, (json.dumps(record.model_dump(mode="json"), indent=1) + "\n").encode(), private=True, durable=True)


def _holds_nothing_more(place: Path, record: "BiosRecord") -> bool:
    """Return whether a file is the record of the same server as it still is: staging was begun, and nothing came of it."""
    try:
        there = load_record(place)
    except BadInput:
        return False
    kept = {"applied", "owner", "asked"}
    return there.outcome == "begun" and there.model_dump(include=kept) == record.model_dump(include=kept)


def load_record(path: Path) -> "BiosRecord":
    """Return a record; refuse what is none."""
    from pydantic import ValidationError

    from advisor.model.audit.bios_change import BiosRecord
    from advisor.work.bios import text_of

    text = text_of(path, 4 << 20, "any record")
    try:
        return BiosRecord.model_validate_json(text)
    except ValidationError as error:
        cure = "give the file that advisor bios stage wrote"
        raise BadInput("no record of advisor bios stage", file=str(path), cure=cure) from error


def record_name(bmc: str, doing: str) -> Path:
    """Return where a record goes that nobody named: into this folder, by BMC and time."""
    host = re.sub(r"[^A-Za-z0-9.]+", "-", bmc)
    return Path(f"bios-{doing}-{host}-{now().replace(':', '')}.json")
