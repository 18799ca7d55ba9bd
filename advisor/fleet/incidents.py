"""Incidents: what differs and what is found on the same node for the same cause, in one line, folded over nodes, ranked."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.advice.model.sheets import SEVERITIES, Severity
from advisor.fleet.fleet import ACTIONS, Action, Drift, Incident, Odd, Silent, Slow, Split, Wrong
from advisor.fleet.fold import MODULES, Judged
from advisor.machine.hosts.errands import expanded, folded
from advisor.machine.units import count, duration, flop_rate, throughput

MINORITY = 10
"""A tenth of a kind at most has drifted; more is another population."""
_DAY = 24.0
_AREAS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("modules", re.escape(MODULES)),
        ("NUMA", r"numa\.(partitioning|nodes|distances)|cpu\.numbering|l3\.groups"),
        ("CPU", r"cpus\.offline|cores|sockets|cpu\.smt.*|memory\.processors\..*|hardware\.sockets"),
        ("DIMM", r"hardware\.DIMMs|memory\..*|numa\.memory\..*"),
        ("adapter", r"hardware\.adapters|hcas\..*|pci\.hca\..*"),
        ("GPU", r"hardware\.GPUs|gpus\..*|pci\.gpu\..*"),
        ("NIC", r"nics\..*|pci\.nic\..*"),
        ("disk", r"pci\.nvme\..*"),
        ("PCI device", r"pci\..*"),
        ("BIOS", r"firmware\..*|bios\..*"),
        ("hugepages", r"kernel\.hugepages\..*"),
        ("kernel", r"kernel\.(release|version)"),
        ("clock", r"cpu\.(max_hz|min_hz|limit_hz|boost)"),
        ("operating system", r"kernel\.os_.*"),
    )
)
"""What facts of one cause are about; what is none of these is a cause by itself."""
_FOLLOWS = (
    ("NUMA", re.compile(r"numa\.(partitioning|nodes)"),
     re.compile(r"numa\..*|l3\.groups|cpu\.numbering|.*\blocality\b.*|kernel\.hugepages\..*|pci\..*|gpus\..*|nics\..*")),
    ("CPU", re.compile(r"cpus\.offline|cores|cpu\.smt"),
     re.compile(r"numa\.distances|l3\.groups|cpu\..*|memory\.processors\..*|.*\blocality\.cpus|.*irqs.*|cores")),
)  # fmt: skip
"""Where a fact of the second differs, those of the third follow from it."""
_TOPICS = {"memory": "DIMM", "fabric": "adapter", "numa": "NUMA", "cpu": "CPU", "gpu": "GPU", "power": "clock"}
"""What a finding is about, by its rule's topic."""
_RULES = (
    ("errors-memory", "DIMM"),
    ("errors-port", "adapter"),
    ("errors-heat", "CPU"),
    ("io-adapter", "adapter"),
    ("io-accelerator", "GPU"),
    ("os-hugepages", "hugepages"),
    ("cpu-mitigations", "boot.mitigations"),
)
"""The same by the start of a rule's id, where its topic says less."""
_GONE = (
    ("DIMM", re.compile(r"memory\.dimms\.([^.]+)\.size"), ("0 B", "not there")),
    ("adapter", re.compile(r"hcas\.([^.]+)"), ("not there",)),
    ("GPU", re.compile(r"gpus\.([^.]+(?:\.\d+)?)"), ("not there",)),
    ("disk", re.compile(r"pci\.(nvme\.[^.]+(?:\.\d+)?)"), ("not there",)),
    ("NIC", re.compile(r"nics\.([^.]+)"), ("not there",)),
)
"""Parts that are gone: the fact, and what it is then."""
_COUNTED = ("hardware.", "cores", "cpus.offline", "sockets")
"""What a job is promised: less of it keeps jobs from a node."""
_SLOWER = re.compile(
    r"hcas\..*\.(rate|locality\.numa_nodes)|pci\.(hca|gpu|nvme)\..*\.link\.(width|speed)|memory\.dimms\..*\.configured|nics\..*\.speed"
    r"|numa\.partitioning|numa\.memory\..*|cpu\.(smt|governors|limit_hz)"
)
"""A node that differs from its kind in one of these works otherwise than its kind, whether a rule says so or not."""


_PORT = re.compile(r"^hcas\.([^.]+)\.ports\.(\d+)\.(?:state\b)?")
"""A fact of an adapter's port, as the line of an incident says it: adapter mlx5_0 port 1 down."""


@dataclass
class _Cause:
    """What is otherwise on a node for one reason."""

    area: str
    facts: list[Drift] = field(default_factory=list)
    found: list[Judged] = field(default_factory=list)


@dataclass(frozen=True)
class _Named:
    """A cause in words, the same on every node that has it."""

    rule: str
    subject: str
    text: str
    severity: Severity
    facts: tuple[str, ...]
    rules: tuple[str, ...]
    fix: str
    part: float | None
    """Of a node's work, the part that is surely lost."""


@dataclass(frozen=True)
class Told:
    """What a fleet's nodes are told to have: what incidents are made of."""

    wrong: Sequence[Wrong]
    judged: Mapping[str, tuple[Judged, ...]]
    drift: Sequence[Drift] = ()
    split: Sequence[Split] = ()
    slow: Sequence[Slow] = ()
    silent: Sequence[Silent] = ()
    odd: Sequence[Odd] = ()


def incidents(told: Told) -> tuple[Incident, ...]:
    """Return what there is to do, the most urgent first: by action, then by node-hours that a day costs, severity, nodes."""
    made = (
        *_apart(told.wrong, told.judged, told.drift),
        *_common(told.wrong, told.split),
        *_slow(told.slow),
        *_silent(told.silent),
        *_split(told.split),
        *_odd(told.odd),
    )
    return tuple(sorted(made, key=_urgency))


def _urgency(each: Incident) -> tuple[int, float, int, bool, bool, int, str]:
    """Order incidents; of those that cost as much what errors count now comes first, then what a rule says."""
    severity = SEVERITIES.index(each.severity)
    return ACTIONS.index(each.action), -(each.lost or 0), severity, not each.rules, bool(each.facts), -each.count, each.id


def is_apart(each: Wrong) -> bool:
    """Return whether a finding sets nodes apart from their kind."""
    return each.count * MINORITY <= each.of


def _apart(wrong: Sequence[Wrong], judged: Mapping[str, tuple[Judged, ...]], drift: Sequence[Drift]) -> Iterator[Incident]:
    """Yield what few nodes of a kind have: on each node what differs and what is found, put together by its cause."""
    facts: dict[tuple[str, str], list[Drift]] = defaultdict(list)
    rules: dict[tuple[str, str], set[str]] = defaultdict(set)
    sizes: dict[str, int] = {}
    for each in drift:
        sizes[each.kind] = max(each.of, sizes.get(each.kind, 0))
        for node in expanded(each.nodes):
            facts[each.kind, node].append(each)
    for finding in wrong:
        sizes[finding.kind] = finding.of
        for node in expanded(finding.nodes) if is_apart(finding) else ():
            rules[finding.kind, node].add(finding.rule)
    known: dict[object, list[_Named]] = {}
    same: dict[tuple[str, _Named], list[str]] = defaultdict(list)
    for kind, node in {**facts, **rules}:
        own = [each for each in judged.get(node, ()) if each.rule in rules.get((kind, node), ())]
        mark = (kind, tuple(map(id, facts.get((kind, node), ()))), tuple(own))
        if mark not in known:
            known[mark] = [_named(cause) for cause in _causes(facts.get((kind, node), []), own)]
        for named in known[mark]:
            same[kind, named].append(node)
    yield from _alike(same, sizes)


def _alike(same: Mapping[tuple[str, _Named], list[str]], sizes: Mapping[str, int]) -> Iterator[Incident]:
    """Yield causes of the same rule and text; those of other parts (DIMM A4, DIMM B2) are other causes."""
    joined: dict[tuple[str, str, str], list[tuple[_Named, list[str]]]] = defaultdict(list)
    for (kind, named), nodes in same.items():
        joined[kind, named.rule, named.text].append((named, nodes))
    for (kind, rule, text), several in joined.items():
        nodes = [node for _, own in several for node in own]
        worst = min((named for named, _ in several), key=lambda each: SEVERITIES.index(each.severity))
        action = _ACTIONS[worst.severity]
        part = 1.0 if action == "drain" else worst.part
        yield Incident(
            id=f"{kind}/{rule}/{worst.subject}",
            action=action,
            severity=worst.severity,
            kind=kind,
            nodes=folded(nodes),
            count=len(nodes),
            of=sizes.get(kind, 0),
            text=text,
            facts=tuple(dict.fromkeys(fact for named, _ in several for fact in named.facts)),
            rules=tuple(dict.fromkeys(rule for named, _ in several for rule in named.rules)),
            fix=worst.fix,
            lost=None if part is None else round(_DAY * part * len(nodes), 1),
        )


def _area(fact: str) -> str:
    return next((name for name, pattern in _AREAS if pattern.fullmatch(fact)), fact)


def _causes(facts: Sequence[Drift], found: Sequence[Judged]) -> list[_Cause]:
    """Return what is otherwise on a node by its causes: facts of one area, what follows from them, and findings on either."""
    heads = [(name, follows) for name, pattern, follows in _FOLLOWS if any(pattern.fullmatch(each.fact) for each in facts)]
    made: dict[str, _Cause] = {}
    for each in facts:
        area = next((name for name, follows in heads if follows.fullmatch(each.fact)), None) or _area(each.fact)
        made.setdefault(area, _Cause(area)).facts.append(each)
    parts = {area for area, cause in made.items() if any(each.fact.startswith("hardware.") for each in cause.facts)}
    for finding in sorted(found, key=lambda each: SEVERITIES.index(each.severity)):
        area = _area_of(finding, made, [name for name, _ in heads], parts)
        made.setdefault(area, _Cause(area)).found.append(finding)
    return list(made.values())


def _area_of(finding: Judged, made: Mapping[str, _Cause], heads: Sequence[str], parts: set[str]) -> str:
    """Return the area of the cause that a finding belongs to: of the facts it rests on, of its topic, else its own."""
    for area, cause in made.items():
        if any(each.fact in finding.facts for each in cause.facts):
            return area
    own = next((area for start, area in _RULES if finding.rule.startswith(start)), None) or _TOPICS.get(finding.topic)
    if own is None:
        return finding.rule
    if own in made:
        return own
    if heads and own in ("NUMA", "DIMM", "CPU", "clock"):
        return heads[0]
    if own == "NUMA" and "DIMM" in made:  # memory that is gone makes nodes unequal
        return "DIMM"
    return next(iter(parts)) if own in ("NUMA", "DIMM") and len(parts) == 1 else own


def _named(cause: _Cause) -> _Named:
    """Return a cause in words: what is gone, what differs first, or what is found."""
    own = sorted(cause.facts, key=lambda each: importance(each.fact))
    gone, worst = _gone(cause), cause.found[0] if cause.found else None
    facts = tuple(_folded_facts(own))
    severities: list[Severity] = [each.severity for each in cause.found]
    if (gone and gone[0] not in ("disk", "NIC")) or any(each.fact.startswith(_COUNTED) for each in own):
        severities.append("high")
    if own:
        slower = any(_SLOWER.fullmatch(each.fact) for each in own)
        severities.append("info" if cause.area == "modules" else "medium" if slower else "low")
    first = own[0].fact if own else ""
    rule = f"{gone[0].lower()}-gone" if gone else first
    if worst and (worst.severity != "info" or not own):
        rule = worst.rule
    return _Named(
        rule=rule,
        subject=(",".join(gone[1]) if gone else (worst.subject if worst else None) or first).replace("/", " "),
        text=_text(cause, own, gone) or _PORT.sub(r"adapter \1 port \2", facts[0]),
        severity=min(severities, key=SEVERITIES.index, default="info"),
        facts=facts,
        rules=tuple(dict.fromkeys(each.rule for each in cause.found)),
        fix=next((each.fix for each in cause.found if each.fix), ""),
        part=max((each.bound for each in cause.found if each.bound is not None), default=None),
    )


def _text(cause: _Cause, own: Sequence[Drift], gone: tuple[str, tuple[str, ...]] | None) -> str:
    """Return what is gone, elsewhere, or found; nothing where the first fact says it best."""
    if gone:
        return " ".join(filter(None, (gone[0], ", ".join(filter(None, map(_place, gone[1]))), "gone")))
    moved = next((each for each in own if each.fact.startswith("hcas.") and each.fact.endswith(".locality.numa_nodes")), None)
    if moved and cause.area == "adapter":
        return f"adapter {moved.fact.split('.')[1]} on NUMA node {moved.value}, {moved.majority} elsewhere"
    if own:
        return ""
    worst = cause.found[0]
    return ": ".join(filter(None, (worst.title, worst.subject)))


def _place(part: str) -> str:
    """Return what a part is called where it is named by its place: at NUMA node 2."""
    found = re.fullmatch(r"(?:nvme\.)?node([\d,]+)(?:\.(\d+))?", part)
    return f"at NUMA node {found[1]}" if found else "" if part.startswith(("card", "nvme.card")) else part


def _gone(cause: _Cause) -> tuple[str, tuple[str, ...]] | None:
    """Return the parts that are gone; a part that is elsewhere is not."""
    if cause.area in ("NUMA", "CPU"):
        return None
    for what, pattern, values in _GONE:
        parts = [found[1] for each in cause.facts if each.value in values and (found := pattern.fullmatch(each.fact))]
        there = [each for each in cause.facts if each.majority == "not there" and pattern.fullmatch(each.fact)]
        if len(parts) > len(there):
            return what, tuple(parts)
    return None


ELEMENT = re.compile(
    r"((?:memory\.(?:dimms|processors)|hcas|gpus|nics|pci\.\w+|kernel\.hugepages|numa\.memory)\.)([^.]+(?:\.\d+(?=\.))?)(.*)"
)


def _folded_facts(facts: Iterable[Drift]) -> Iterator[str]:
    """Yield facts in words, those of several elements with the same values in one: memory.dimms.A[1-8].configured 2933 MT/s."""
    same: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for each in facts:
        match = ELEMENT.fullmatch(each.fact)
        before, element, after = (match[1], match[2], match[3]) if match else (each.fact, "", "")
        same[before, after, each.value, each.majority].append(element)
    for (before, after, value, majority), elements in same.items():
        named = elements[0] if len(elements) == 1 else folded(each.replace(" ", "_").replace(",", "+") for each in elements)
        said = (
            value if value in ("there", "not there") and majority in ("there", "not there") else f"{value}, {majority} elsewhere"
        )
        yield f"{before}{named}{after} {said}"


_CAUSES = (
    "numa.partitioning", "cores", "cpus.offline", "cpu.smt", "memory.dimms.", "hardware.", "firmware.bios_version", "firmware.",
    "bios.", "kernel.", "hcas.", "gpus.", "memory.", "",
)  # fmt: skip
"""What a set of nodes is called by, the first where several facts differ."""


def importance(name: str) -> tuple[bool, int, bool, str]:
    """Sort a cause before its consequences: where devices are near, and what is per NUMA node, follows the partitioning."""
    follows = "locality" in name or "hugepages" in name or name.endswith((".physical", ".bandwidth", "_name"))
    return (follows, next(at for at, each in enumerate(_CAUSES) if name.startswith(each)), not name.endswith(".state"), name)


def _common(wrong: Sequence[Wrong], split: Sequence[Split]) -> Iterator[Incident]:
    """Yield what much of a kind has, or all of it: each rule once, whatever the kinds; one side of a split is told of there."""
    sides = {(each.kind, side.nodes) for each in split for side in each.populations}
    rules: dict[str, list[Wrong]] = defaultdict(list)
    for each in wrong:
        if not is_apart(each) and (each.kind, each.nodes) not in sides:
            rules[each.rule].append(each)
    for rule, several in rules.items():
        worst = min(several, key=lambda each: SEVERITIES.index(each.severity))
        count, bounds = sum(each.count for each in several), [each.bound for each in several if each.bound is not None]
        action = "ticket" if worst.severity == "high" else _ACTIONS[worst.severity]
        yield Incident(
            id=f"all/{rule}/",
            action=action,
            severity=worst.severity,
            kind=several[0].kind if len(several) == 1 else "",
            nodes=",".join(each.nodes for each in several),
            count=count,
            of=sum(each.of for each in several),
            text=worst.title,
            rules=(rule,),
            fix=worst.fix,
            lost=round(_DAY * max(bounds) * count, 1) if bounds else None,
        )


def _slow(slow: Sequence[Slow]) -> Iterator[Incident]:
    """Yield slow nodes: of those with several slow figures the worst; what their settings explain is to be watched."""
    nodes: dict[tuple[str, str], list[Slow]] = defaultdict(list)
    for each in slow:
        nodes[each.kind, each.node].append(each)
    for (kind, node), own in nodes.items():
        worst = min(own, key=lambda each: each.z)
        part = abs(1 - (worst.median / worst.value if worst.unit == "seconds" else worst.value / worst.median))
        why = f", explained by {worst.explained}" if worst.explained else ""
        yield Incident(
            id=f"{kind}/slow/{node}",
            action="watch" if worst.explained else "drain",
            severity="low" if worst.explained else "high",
            kind=kind,
            nodes=node,
            count=1,
            of=worst.among,
            text=f"slow: {worst.figure} {part:.0%} {'above' if worst.unit == 'seconds' else 'below'} its peers{why}",
            facts=tuple(f"{each.figure} {against_peers(each)}" for each in own),
            lost=round(_DAY * part, 1),
        )


def against_peers(slow: Slow) -> str:
    """Return a slow node's figure beside the median of its peers.

    >>> against_peers(Slow(figure="membw", node="n1", value=8e10, median=1e11, z=-9, unit="bytes/s"))
    '80 GB/s, median 100 GB/s (z -9)'
    """
    return f"{amount(slow.value, slow.unit)}, median {amount(slow.median, slow.unit)} (z {slow.z:g})"


def amount(value: float, unit: str) -> str:
    """Return a figure in its unit."""
    write = {"bytes/s": throughput, "flop/s": flop_rate, "seconds": duration}.get(unit)
    return write(value) if write else f"{value:.4g} {unit}"


def _silent(silent: Sequence[Silent]) -> Iterator[Incident]:
    whys: dict[str, list[str]] = defaultdict(list)
    for each in silent:
        whys[each.why].append(each.node)
    for why, nodes in whys.items():
        yield Incident(
            id=f"/silent/{why[:60].replace('/', ' ')}",
            action="drain",
            severity="high",
            nodes=folded(nodes),
            count=len(nodes),
            text=f"no answer: {why}",
        )


def _split(split: Sequence[Split]) -> Iterator[Incident]:
    """Yield what divides a kind: facts that divide it in the same way are one."""
    same: dict[tuple[str, frozenset[str]], list[Split]] = defaultdict(list)
    for each in split:
        same[each.kind, frozenset(side.nodes for side in each.populations)].append(each)
    for (kind, _), several in same.items():
        head = min(several, key=lambda each: importance(each.fact))
        sides = ", ".join(
            f"{side.value[:30]} ({count(side.count, 'node') if at == 0 else side.count})"
            for at, side in enumerate(head.populations[:4])
        )
        yield Incident(
            id=f"{kind}/split/{head.fact}",
            action="ask",
            severity="low",
            kind=kind,
            nodes=",".join(side.nodes for side in head.populations),
            count=sum(side.count for side in head.populations),
            of=sum(side.count for side in head.populations),
            text=f"{head.fact} differs, intended value unknown: {sides}",
            facts=tuple(
                f"{each.fact}: " + "; ".join(f"{side.value} ({side.nodes})" for side in each.populations) for each in several
            ),
        )


_ACTIONS: Mapping[Severity, Action] = {"high": "drain", "medium": "ticket", "low": "watch", "info": "ignore"}
_ACT_ON: Mapping[str, Action] = {"version": "ignore", "old": "watch", "BIOS": "watch", "measurements": "watch"}


def _odd(odd: Sequence[Odd]) -> Iterator[Incident]:
    """Yield odd answers; of two nodes of one name that alone."""
    twice = {f"reports the name {each.node}" for each in odd if each.what == "same name twice"}
    for each in odd:
        if each.what == "wrong name" and each.why in twice:
            continue
        action = _ACT_ON.get(each.what, "ticket")
        severity: Severity = "low" if action == "watch" else "info" if action == "ignore" else "medium"
        yield Incident(
            id=f"/{each.what}/{each.node}",
            action=action,
            severity=severity,
            nodes=each.node,
            count=1 if each.node else 0,
            text=f"{each.what}: {each.why}",
        )
