"""The tuning checklist: what a sysadmin ticks off, in the order in which one restart serves all."""

from collections.abc import Callable
from typing import Final, Literal

from pydantic import Field

from advisor.advice.model.findings import Fix
from advisor.advice.model.rule import Guide, Severity, Verdict
from advisor.advice.model.setting import Where
from advisor.machine.value import Value, optional
from advisor.measure.platform import Scope

HEADINGS: Final[dict[Where, str]] = {
    "hardware": "Hardware",
    "bios": "BIOS",
    "boot": "Boot options",
    "os": "Operating system",
    "fabric": "Fabric",
    "scheduler": "Scheduler",
    "mpi": "MPI",
    "job": "Jobs",
}
"""The groups, in order: hands on the machine first, then what needs the one restart, then what takes effect at once."""

NOTE_FIRST: Final = "note the present value first, and set it back"
"""The undo of a line whose present value is not known."""

CURL: Final = "curl -fn --cacert BMC.pem"
"""How a BMC is asked: its certificate is checked, login and password stand in ~/.netrc, an error is no answer."""

CERTIFICATE: Final = "BMC.pem is the certificate of the BMC or of who signed it, ~/.netrc has the login"

NAMED: Final = 3
"""How many subjects the title of a state names: PCIe link of the adapter at full width (mlx5_0); more stand below it."""


Mark = Literal["todo", "consider", "unknown", "done", "not-here", "waived"]
"""What a line is to whoever ticks off: wrong, choice, not known, right, nothing of this machine, waived."""


class Other(Value):
    """Another value that a rule wants for the same setting."""

    id: str = Field(description="the rule")
    wanted: str
    refs: tuple[str, ...] = ()


class Expected(Value):
    """A published result to hold a measurement against."""

    what: str = Field(description="of what: STREAM triad of the machine")
    value: str = Field(description="270 to 300 GB/s, 13 % above NPS1")
    conditions: str | None = optional("processors, sockets, cut, memory: what it holds under")
    ref: str = Field(description="the publication")


class Proof(Value):
    """A benchmark that shows whether steps have brought what they should."""

    id: str = Field(description="what items name it by: bandwidth")
    command: str = Field(description="advisor measure membw")
    shows: str = Field(description="what it shows, in a few words")
    figures: bool = Field(description="whether it gives figures that publications give, too")
    expected: tuple[Expected, ...] = optional(
        "what was published for this platform; () where nothing was, the likest conditions first", ()
    )


class Item(Value):
    """One line to tick."""

    id: str = Field(description="the rule that asks for it; of several, the one that says most")
    rules: tuple[str, ...] = optional("every rule that asks for it", ())
    numbers: tuple[int, ...] = optional("numbers of its findings in the audit; () where nothing is wrong", ())
    title: str = Field(description="the setting or the state, in a few words")
    setting: str | None = optional("neutral name of the setting")
    term: str | None = optional("the setting in the word that people search for; None of a state")
    fault: str = optional("what would be wrong, in a few words", "")
    claim: str | None = optional("what is wrong, in the finding's words")
    look: str | None = optional("what would make it known, where it is not")
    left: str | None = optional("why no script writes it")
    subjects: tuple[str, ...] = optional("which of several things; () for the machine", ())
    done: bool | None = optional("whether it is so already; None where that is not known")
    verdict: Verdict
    severity: Severity
    now: str | None = optional("what it is set to")
    pending: str | None = optional("what the BIOS will apply at the next restart already")
    wanted: str = Field(description="what it should be set to")
    meaning: str | None = optional("what that value does, in one line")
    others: tuple[Other, ...] = optional("other values that rules want: a conflict to decide", ())
    fix: Fix
    why: str
    cost: str | None = optional("what it is worth, with its source")
    check: str | None = None
    proof: str | None = optional("the benchmark that proves it, one of proofs; None where none shows it")
    undo: str | None = None
    spare: str | None = None
    breaks: str | None = optional("what it can break")
    guides: tuple[Guide, ...] = ()
    refs: tuple[str, ...] = ()

    @property
    def mark(self) -> Mark:
        """Return what the line is to whoever ticks off; what is only worth knowing, and is not so, is nothing of this machine."""
        if self.done is None:
            return "unknown"
        if self.done:
            return "done" if self.setting or self.severity != "info" else "not-here"
        if self.verdict == "waived":
            return "waived"
        return "consider" if self.severity == "info" else "todo"


class Cited(Value):
    """A publication that lines rest on."""

    id: str
    text: str = Field(description="title, author, year and place in one line")


class Group(Value):
    """Items of one place."""

    where: Where
    heading: str
    items: tuple[Item, ...]


class Checklist(Value):
    """The whole list for one machine, or for a kind of machine that is not there yet."""

    machine: str | None = optional("the machine in words; None for hardware on order")
    platform: str | None = None
    platform_id: str | None = None
    vendor: str = Field(description="the vendor whose names are used: Dell")
    vendor_id: str
    scope: Scope
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = optional("what holds for all of it: how to enter the setup, one restart for all", ())
    apply: tuple[str, ...] = optional("lines that make all BIOS changes take effect, once", ())
    absent: tuple[str, ...] = optional("what is recommended and this vendor does not offer here", ())
    left_out: int = optional("rules that do not apply here", 0)
    proofs: tuple[Proof, ...] = optional("the benchmarks that items name", ())
    sources: tuple[Cited, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """Every line, in order."""
        return tuple(item for group in self.groups for item in group.items)

    @property
    def done(self) -> int:
        """How many lines are so already."""
        return sum(item.done is True for item in self.items)

    @property
    def unknown(self) -> int:
        """Of how many lines nobody knows whether they are so."""
        return sum(item.done is None for item in self.items)

    @property
    def conflicts(self) -> tuple[Item, ...]:
        """Return the lines for which rules want different values."""
        return tuple(item for item in self.items if item.others)

    def proof_of(self, item: Item) -> Proof | None:
        """Return the benchmark that proves a line; None where none shows it."""
        return next((proof for proof in self.proofs if proof.id == item.proof), None)

    @property
    def order(self) -> bool:
        """Return whether it is hardware on order: nothing of it can be known, so all of the list is to be done."""
        return self.machine is None

    def marked(self, *marks: Mark) -> tuple[Item, ...]:
        """Return the lines of some marks."""
        return tuple(item for item in self.items if item.mark in marks)

    def todo(self) -> "Checklist":
        """Return the same list with what is known to be wrong alone; of hardware on order with all that is not so."""
        marks: tuple[Mark, ...] = ("todo", "consider", "unknown") if self.order else ("todo",)
        return self.only(lambda item: item.mark in marks)

    def only(self, wanted: Callable[[Item], bool]) -> "Checklist":
        """Return the same list with some of its lines, and the benchmarks that prove those."""
        left = (group.model_copy(update={"items": tuple(filter(wanted, group.items))}) for group in self.groups)
        groups = tuple(group for group in left if group.items)
        named = {item.proof for group in groups for item in group.items}
        return self.model_copy(update={"groups": groups, "proofs": tuple(each for each in self.proofs if each.id in named)})
