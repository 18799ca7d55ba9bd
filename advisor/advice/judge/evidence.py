"""The facts that an expression looked at, where each was read, and what would make an unknown one known. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from advisor.advice.judge.scope import SETTING
from advisor.advice.language.kinds import Trouble, Unknown
from advisor.advice.language.sentences import written_value
from advisor.advice.language.tree import STEPS, Env, Fact, Loop, Node
from advisor.advice.model.case import Case
from advisor.advice.model.findings import Evidence, Lack
from advisor.advice.model.setting import Setting
from advisor.machine.machine import NOT_OFFERED, Gap, Source
from advisor.machine.registers import Processor, messages, registers
from advisor.measure.measured_facts import MEASURE, MEASURED, UNMEASURED, MeasuredFacts

ASK_BIOS = "give the BIOS attributes: advisor audit --bios FILE (a Redfish Bios resource)"

AGAIN = "measure again on an idle machine: {}"

_HPL, _NETWORK = "advisor measure hpl", "advisor measure network --hosts A,B"
_OTHERS = {"hpl": _HPL, "published_hpl": _HPL, "adapter": _NETWORK, "published_network": _NETWORK}
"""Commands that measure what the quick set does not, by how the names of its facts begin."""

_COMPARED = {"measured.clocks": "cpu.base_hz", "measured.flops": "platform.flops_per_cycle", ".ceiling": "memory.sockets"}
"""What measured facts are compared with, and lack where they are known themselves."""


class Origins:
    """The sources and gaps of one machine."""

    def __init__(self, sources: tuple[Source, ...], gaps: tuple[Gap, ...], case: Case, settings: Mapping[str, Setting]) -> None:
        self._sources = {source.fact: source.where for source in sources}
        self._gaps = {gap.fact: gap for gap in gaps}
        self._case, self._settings = case, settings

    def where(self, fact: str) -> str | None:
        """Return the file or command that a fact was read from."""
        if fact.startswith(f"{SETTING}."):
            name = fact.removeprefix(f"{SETTING}.")
            return next((s.how for s in self._case.standings or () if s.name == name), None)
        name = origin(fact)
        if name.partition(".")[0] == MEASURED:
            return f"measured {self._case.measured.when} (advisor measure)" if self._case.measured else None
        if name.partition(".")[0] == "platform":
            return f"rules/platforms/{self._case.platform.id}.yaml" if self._case.platform else None
        while name:
            if name in self._sources:
                return self._sources[name]
            name = name.rpartition(".")[0]
        return None

    def lacks(self, facts: Iterable[str], looked: Iterable[str] = ()) -> tuple[Lack, ...]:
        """Return why facts are not known; what holds for any measurement comes with the one that the question looks at."""
        names, own = sorted(facts), f"{MEASURED}."
        if self._case.measured is not None or not any(name.startswith(own) for name in names):
            return tuple(dict.fromkeys(map(self.lack, names)))
        begin = next((word for name in [*names, *sorted(looked)] if name.startswith(own) and (word := _begins(name))), "")
        return tuple(dict.fromkeys(_unmeasured(begin) if name.startswith(own) else self.lack(name) for name in names))

    def lack(self, fact: str) -> Lack:
        """Return why a fact is not known and what would make it known."""
        if fact.startswith(f"{SETTING}."):
            return self._setting(fact)
        name = origin(fact)
        if name.partition(".")[0] == MEASURED:
            return self._measured(fact, name)
        if name.partition(".")[0] == "platform":
            if self._case.platform is None:
                return Lack(fact=fact, why="this processor is in no platform sheet", help="add it to rules/platforms")
            return Lack(fact=fact, why=f"the sheet of {self._case.platform.name} does not tell", help="nothing here shows it")
        if name.startswith("allocation"):
            return Lack(fact=fact, why="it ran in no job", help="run advisor in a job of the scheduler: srun advisor audit")
        gap = self._gap(name) or (self._gap("slurm_conf") if name.startswith("limits.slurm") else None)
        if gap:
            return Lack(fact=fact, why=gap.why, help=gap.help)
        return Lack(fact=fact, why="not in this input", help="run advisor on the machine itself, as root: sudo advisor audit")

    def _setting(self, fact: str) -> Lack:
        setting = self._settings.get(fact.removeprefix(f"{SETTING}."))
        if setting is None or setting.where == "bios":
            unread = self._unread(setting.name) if setting else None
            if unread:
                return Lack(fact=fact, why=unread.why, help=unread.help)
            return Lack(fact=fact, why="the operating system does not show it", help=ASK_BIOS)
        show = f": {setting.show}" if setting.show else ""
        return Lack(fact=fact, why="not in this input", help=f"run advisor on the machine itself{show}")

    def _unread(self, setting: str) -> Gap | None:
        """Return what stood in the way of a register or message that shows a setting here, where it can be removed."""
        cpu = self._case.cpu
        if cpu is None or not cpu.vendor or cpu.family is None or cpu.model is None:
            return None
        here = Processor(cpu.vendor, cpu.family, cpu.model)
        for fact, table in (("registers", registers), ("socket_firmware", messages)):
            gap = self._gaps.get(fact)
            if gap and gap.help != NOT_OFFERED and any(each.serves(here) and each.shows(setting) for each in table()):
                return gap
        return None

    def _measured(self, fact: str, name: str) -> Lack:
        """Return why a measured fact does not tell: nothing was measured, others worked, repeats disagree, this was left out."""
        found = self._case.measured
        if found is None:
            return _unmeasured(_begins(fact))
        again = AGAIN.format(_experiment(fact, found))
        if name == f"{MEASURED}.idle" and found.idle is None:
            return Lack(fact=fact, why="whether the hosts were idle was not checked: it ran on other hosts", help=again)
        if name == f"{MEASURED}.idle":
            return Lack(
                fact=fact, why=f"other work ran at the same time: {'; '.join(found.busy) or 'the machine was busy'}", help=again
            )
        if name.endswith("spread"):
            return Lack(fact=fact, why="its repeats differ too much, or are too few, to judge", help=again)
        part = ".".join(name.split(".")[:2]) if not name.endswith(".ceiling") else ".ceiling"
        if part in _COMPARED and not name.endswith((".clocks", ".flops")):
            return self.lack(_COMPARED[part])
        return Lack(fact=fact, why="not among what was measured", help=_OTHERS.get(_begins(fact), "advisor measure --full"))

    def _gap(self, name: str) -> Gap | None:
        """Return the gap of the fact, of what holds it, or of a part of it."""
        inner = name
        while inner:
            if inner in self._gaps:
                return self._gaps[inner]
            inner = inner.rpartition(".")[0]
        return next((gap for fact, gap in self._gaps.items() if fact.startswith(f"{name}.")), None)


def _unmeasured(begin: str) -> Lack:
    """Return what lacks where nothing was measured: the quick set, or the experiment that facts of such a beginning need."""
    of = {_HPL: f"{MEASURED}.hpl", _NETWORK: f"{MEASURED}.adapters"}
    cure = _OTHERS.get(begin, MEASURE)
    return Lack(fact=of.get(cure, MEASURED), why=UNMEASURED, help=cure)


def _begins(fact: str) -> str:
    """Return what the name of a measured fact begins with: hpl of measured.hpl.rate, adapter of measured.adapter_ways."""
    name = fact.removeprefix(f"{MEASURED}.")
    return next((word for word in _OTHERS if name.startswith(word)), "")


def _experiment(fact: str, found: MeasuredFacts) -> str:
    """Return the command that measures a fact again; of what holds for all of a run the one that the run was."""
    word = _begins(fact)
    if not word and found.nodes is None and found.machine is None:
        word = "hpl" if found.hpl else "adapter" if found.adapters else ""
    return _OTHERS.get(word, "advisor measure --quick")


@cache
def origin(fact: str) -> str:
    """Return the fact of the Machine that a fact of the Case is made from: topology of sockets.nodes."""
    model: type[BaseModel] | None = Case
    name: list[str] = []
    for part in fact.split("."):
        field = model.model_fields.get(part) if model else None
        extra = field.json_schema_extra if field else None
        if isinstance(extra, dict) and "of" in extra:
            name = [str(extra["of"])]
        else:
            name.append(part)
        model = _inner(field.annotation) if field else None
    return ".".join(name)


def _inner(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner(part))), None)


_FEW = 6
_MOST = 5000
"""Values that are looked at for one verdict: enough for every CPU of a machine."""


def evidence(nodes: Iterable[Node], env: Env, origins: Origins) -> tuple[Evidence, ...]:
    """Return every known fact that the expressions looked at, each once."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    budget = iter(range(_MOST))
    for node in nodes:
        for text, fact, value in looked_at(node, env):
            found.setdefault(text, (fact, {}))[1][value] = None
            if next(budget, None) is None:
                break
    return tuple(
        Evidence(fact=text, value=_few(tuple(values)), where=origins.where(fact)) for text, (fact, values) in found.items()
    )


def _few(values: tuple[str, ...]) -> str:
    more = f", ... ({len(values)} different)" if len(values) > _FEW else ""
    return ", ".join(values[:_FEW]) + more


def looked_at(node: Node, env: Env) -> Iterator[tuple[str, str, str]]:
    """Yield the text, the name and the written value of each known fact in an expression, inside loops for each item.

    What cannot be written itself, such as a list of sockets or the boot options, is shown by what was made of it.
    """
    if isinstance(node, Fact):
        value = node.value(env)
        if not isinstance(value, Unknown) and not _hidden(value):
            yield node.text, node.fact, written_value(value)
        return
    for part in node.operands:
        if isinstance(part, Fact) and _hidden(part.value(env)):
            value = evaluated(node, env)
            if not isinstance(node, Loop) and not isinstance(value, Unknown) and not _hidden(value):
                yield node.text, part.fact, written_value(value)
        yield from looked_at(part, env)
    if isinstance(node, Loop):
        for thing in _things(node, env):
            inner = {**env, node.name: thing}
            for each in (node.condition, node.element):
                if each is not None:
                    yield from looked_at(each, inner)


def evaluated(node: Node, env: Env) -> Any:
    """Return what an expression yields, Unknown where it cannot be evaluated; it has the whole budget of work."""
    try:
        return node.value({**env, "_steps": [STEPS]})
    except Trouble:
        return Unknown()


def _things(loop: Loop, env: Env) -> tuple[Any, ...]:
    things = evaluated(loop.operands[0], env)
    return () if isinstance(things, Unknown) else things


def _hidden(value: object) -> bool:
    """Return whether a value is too large to be written as evidence: a thing with facts of its own, or a list of such."""
    inner = value if isinstance(value, tuple) else (value,)
    return any(isinstance(each, (BaseModel, dict, tuple)) for each in inner)
