"""BIOS changes through a BMC: the plan that an admin edits, the record that brings back what was, and whose it is."""

import re
from typing import Final, Literal

from pydantic import Field

from advisor.advice.model.vendor import VendorValue
from advisor.machine.hardware import Scalar
from advisor.machine.value import Value, optional

_OUT_OF_REACH: Final = {
    "Secure Boot and its keys": r"secure[ _]?boot|^ResetKeys|platform[ _]?key|factory[ _]?key|key[ _]?exchange|TLSCertificate",
    "the TPM": r"tpm|trusted[ _]?comput|tcg|trusted[ _]?platform|^txt$",
    "passwords and keys": r"pass(word|wd|phrase)|\bpwd|chap|secret|credential|private[ _]?key",
    "what it boots": r"boot[ _]?(order|seq|option|device|list|mode|source|priorit|type|override|uri|target)|one[ _]?time"
    r"|^csm|uefi[ _]?optimized[ _]?boot",
    "factory defaults and CMOS": r"clear[ _]?cmos|cmos[ _]?clear|reset[ _]?bios|bios[ _]?reset|factory[ _]?reset"
    r"|(restore|load|erase|save|user|setup|factory)\w*[ _]?default|default\w*[ _]?(restore|load)",
    "data and logs": r"erase|sanitize|wipe",
    "job queues": r"job[ _]?queue",
    "the lock of the BIOS itself": r"lockdown|config\w*lock",
}
"""What no plan may touch, however it was edited: each can lock an owner out, or cannot be undone."""


CODE: Final = re.compile(r"[A-Za-z]{2,}\d{3,4}")
"""AMI calls an attribute by a code, of each board's own: FBO001 is its boot order, Rome0075 the NUMA nodes of a socket."""


def out_of_reach(attribute: str, shown: str | None = None) -> str | None:
    """Return what an attribute is that no plan may touch, by its name or the menu's words for it; None for any other."""
    names = [attribute, *([shown] if shown else [])]
    return next(
        (what for what, words in _OUT_OF_REACH.items() if any(re.search(words, each, re.IGNORECASE) for each in names)), None
    )


class Owner(Value):
    """Whose BIOS it is, as its BMC says: a plan and a record are for this server and this firmware."""

    uuid: str | None = None
    vendor: str | None = None
    model: str | None = None
    bios_version: str | None = None
    bmc_version: str | None = None
    host_name: str | None = optional("what its operating system reported to the BMC")
    processor: str | None = optional("the processors' model, by which their generation is known")


class PlannedChange(Value):
    """One attribute and the value it shall have."""

    attribute: str = Field(min_length=1, max_length=200, description="the attribute's name, as the registry has it")
    value: VendorValue = Field(description="the value it shall have; a text stands in quotes")
    now: Scalar | None = optional("what it was when the plan was made")


class BiosPlan(Value):
    """What to stage on one server; made by ``advisor bios plan``, edited by whom it may concern."""

    format: Literal["advisor-bios-plan/1"]
    machine: str = "this machine"
    owner: Owner = Owner()
    registry: str | None = optional("the attribute registry that it was checked against")
    vendor: str | None = optional("whose words the attributes are: dell, hpe, ...")
    platform: str | None = None
    changes: tuple[PlannedChange, ...] = Field(default=(), max_length=500)

    @property
    def values(self) -> dict[str, VendorValue]:
        """Return attribute -> value."""
        return {change.attribute: change.value for change in self.changes}


class BiosRecord(Value):
    """What a BIOS was before something was staged: all of it, on disk before the first write."""

    format: Literal["advisor-bios-record/1"]
    at: str = Field(description="when, in UTC")
    bmc: str
    verified: str = Field(description="by what the BMC was known to be itself")
    owner: Owner
    registry: str | None = None
    applied: dict[str, Scalar | None] = Field(description="every attribute as it was; those with secrets left out")
    asked: dict[str, Scalar] = Field(description="what was staged")
    moves: dict[str, Scalar | None] = optional("what the registry says changes along with it", {})
    unlisted: dict[str, Scalar] = optional("of these what was set to a value that the registry has not", {})
    vendor: str | None = None
    platform: str | None = None
    outcome: Literal["begun", "staged"] = optional("begun: whether it was staged is not known", "begun")
    job: str | None = optional("the BMC's job that applies it")
    by_hand: tuple[str, ...] = optional("how to go back without advisor: commands of others", ())
