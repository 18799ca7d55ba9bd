"""The page of ``advisor bind``: the line to paste, why it is so, and the node drawn with its ranks in their places."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count as count_from
from itertools import islice
from typing import Any

from rich.cells import cell_len

from advisor.jobs.launcher import title_of
from advisor.jobs.placement import (
    Lint,
    LintAnswer,
    LintRank,
    LintTranslation,
    LintWarning,
    Placed,
    Placement,
    RankPlace,
    Slot,
)
from advisor.jobs.request import version_source
from advisor.jobs.started.hosts import FoldedPlan
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.units import count, plain
from advisor.show.commandline import assignments, exports, folded, word
from advisor.show.lines import Line, Page, Span, cut, labelled, listed, threads, wrapped
from advisor.show.picture import Box, Device, Group, Member, Picture, picture
from advisor.show.svg import draw_svg
from advisor.show.terminal import picture_lines as drawn_lines

FIRST = 8
"""So many ranks are listed, and the last."""

_RIGHT = ("rank", "distance")
_LEAST = 4


def rank_table(placement: Placement, width: int, *, whole: bool = False) -> list[Line]:
    """Return the ranks in lines, those in the middle left out unless all are wanted."""
    if whole or placement.size <= FIRST + 2:
        rows = list(map(_row, placement.ranks()))
    else:
        rows = [*map(_row, islice(placement.ranks(), FIRST)), {"rank": "..."}, _row(_last_rank(placement))]
    sizes = {
        head: max(cell_len(row.get(head, "")) for row in ({head: head}, *rows))
        for head in rows[0]
        if any(r.get(head) for r in rows)
    }
    for head in ("CPUs", "L3", "host", "NUMA"):
        over = sum(sizes.values()) + 2 * (len(sizes) - 1) - width
        if over > 0 and head in sizes:
            sizes[head] = max(_LEAST, sizes[head] - over)

    def line(row: Mapping[str, str], style: str) -> Line:
        cells = []
        for head, size in sizes.items():
            shown = cut(row.get(head, ""), size)
            blanks = " " * (size - cell_len(shown))
            cells.append(blanks + shown if head in _RIGHT else shown + blanks)
        return (("  ".join(cells).rstrip(), style),)

    return [line({head: head for head in sizes}, "label"), *(line(row, "dim" if row["rank"] == "..." else "") for row in rows)]


def _last_rank(placement: Placement) -> RankPlace:
    """Return the last rank."""
    host = next(host for host in reversed(placement.hosts) if host.ranks)
    return RankPlace(placement.size - 1, host.name, host.ranks - 1, placement.plans[host.plan].slots[host.ranks - 1])


def _row(place: RankPlace) -> dict[str, str]:
    slot = place.slot
    return {
        "rank": str(place.rank),
        "host": place.host or "",
        "CPUs": _listed(slot.cpus),
        "NUMA": listed(CpuSet(slot.nodes)) or "-",
        "memory": "" if slot.memory == slot.nodes else listed(CpuSet(slot.memory)) or "-",
        "L3": listed(CpuSet(slot.l3)) or "-",
        "HCA": slot.hca or "",
        "distance": "" if slot.hca is None else "?" if slot.distance is None else str(slot.distance),
        "GPU": slot.gpu or "",
    }


@cache
def _listed(cpus: CpuSet) -> str:
    return listed(cpus)


def rank_texts(placement: Placement) -> Iterator[str]:
    """Yield each rank as a JSON object; each slot is put into words once, however many hosts have it."""
    tails = [[json.dumps(_values(slot))[1:] for slot in plan.slots] for plan in placement.plans]
    numbers = count_from()
    for host in placement.hosts:
        name = json.dumps(host.name)
        for local, tail in enumerate(tails[host.plan][: host.ranks]):
            yield f'{{"rank": {next(numbers)}, "host": {name}, "local": {local}, {tail}'


def _values(slot: Slot) -> dict[str, Any]:
    return {
        "cpus": str(slot.cpus),
        "numa_nodes": slot.nodes,
        **{name: getattr(slot, name) for name in ("memory", "policy", "l3", "hca", "gpu", "distance")},
    }


def plan_lines(plan: FoldedPlan) -> Iterator[str]:
    """Yield the lines of the file that ``advisor verify`` compares with: one for each slot and each text of names."""
    yield f'{{"schema": "{plan.schema_}", "nodes": ['
    for at, node in enumerate(plan.nodes):
        yield '{"slots": ['
        yield from _separated(slot.model_dump_json() for slot in node.slots)
        yield "]}," if at + 1 < len(plan.nodes) else "]}"
    yield '], "hosts": ['
    for at, entry in enumerate(plan.hosts):
        yield f'{{"node": {entry.node}, "ranks": "{entry.ranks}", "names": {"null" if entry.names is None else "["}'
        yield from _separated(map(json.dumps, entry.names or ()))
        yield ("]}" if entry.names is not None else "}") + ("," if at + 1 < len(plan.hosts) else "")
    yield "]}"


def document_lines(placement: Placement, values: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a document: the ranks, then the values."""
    head, *rest = values.items()
    yield f'{{"{head[0]}": {json.dumps(head[1])}, "ranks": ['
    yield from _separated(rank_texts(placement))
    yield f"],\n{json.dumps(dict(rest), indent=1)[2:]}"


def _separated(texts: Iterable[str]) -> Iterator[str]:
    held: str | None = None
    for text in texts:
        if held is not None:
            yield f"{held},"
        held = text
    if held is not None:
        yield held


LINT_SCHEMA = "advisor-lint/1"
"""The number rises when a key changes meaning or goes."""

_MOST_RANKS = 32
_MOST_LINES = 12


def lint_document(told: Lint) -> dict[str, Any]:
    """Return the document of ``advisor check --json``."""
    return {"schema": LINT_SCHEMA, **told.model_dump(mode="json")}


def lint_page(told: Lint, width: int | None = None) -> Page:
    """Return a line's explanation."""
    return Page(lambda room: _lint_lines(told, room), width)


def _lint_lines(told: Lint, width: int) -> list[Line]:
    version = f" ({plain(told.version)})" if told.version else ""
    head = [(title_of(told.launcher), "title"), (f"{version}, {plain(version_source(told.known_from))}", "dim")]
    result = wrapped(head, width)
    result += [line for each in told.assumed for line in wrapped([("  ", ""), (each, "dim")], width)]
    # The command stands on one line, however wide: it is there to be copied.
    result += [(("  ", ""), (plain(told.line, 200_000), "")), (), (("Options", "heading"),)]
    options = [(each.text, each.says, each.known) for each in told.options]
    if told.command:
        options.append((plain(" ".join(told.command), 200), "is started", True))
    for text, says, known in options:
        shown = cut(plain(text, 400), max(20, width // 2))
        result += wrapped([(f"  {shown}", "label" if known else "unknown"), (f"  {plain(says, 400)}", "")], width, indent=6)
    result += [(), (("Rank placement here", "heading"),), *wrapped([("  ", ""), (plain(told.binding, 2000), "")], width)]
    if told.answers:
        result += wrapped([("  ", ""), (how_known(told.placed, told.answers), "dim")], width)
    result += rows_of_ranks(told.ranks or (), width)
    result += [(), (("Problems", "heading"),)]
    result += [line for each in told.warnings for line in _warning(each, width)]
    if not told.warnings and told.ranks:
        result.append((("  no known problems", "good"),))
    elif not told.warnings:
        text = "not predicted: the ranks' placement is unknown; the options alone show no fault"
        result += wrapped([("  ", ""), (text, "unknown")], width)
    result += [(), (("Equivalent lines for other launchers", "heading"),)]
    return result + _translations(told.translations, width)


def how_known(placed: Placed, answers: Sequence[LintAnswer]) -> str:
    """Return how it is known where ranks go: who was asked, and what agrees with it."""
    if placed == "not-told":
        return "UNKNOWN: the methods give different answers"
    best = answers[-1]
    others = [each.kind for each in answers[:-1] if each.ranks == best.ranks]
    otherwise = [each.kind for each in answers[:-1] if each.ranks != best.ranks]
    by = f": {plain(best.by, 200)}" if best.by else ""
    said = f"; {' and '.join(others)} agree{'s' if len(others) == 1 else ''}" if others else ""
    return f"{best.kind}{by}{said}" + (
        f"; {' and '.join(otherwise)} differ{'s' if len(otherwise) == 1 else ''}" if otherwise else ""
    )


def rows_of_ranks(ranks: tuple[LintRank, ...], width: int) -> list[Line]:
    """Return the CPUs of ranks, those in a row with the same ones together."""
    rows: list[tuple[int, int, str | None, CpuSet | None]] = []
    for each in ranks:
        first = each.rank
        if rows and rows[-1][2:] == (each.host, each.cpus) and rows[-1][1] + 1 == each.rank:
            first = rows.pop()[0]
        rows.append((first, each.rank, each.host, each.cpus))
    result: list[Line] = []
    for first, last, host, cpus in rows[:_MOST_RANKS]:
        number = str(first) if first == last else f"{first}-{last}"
        where = f" on {plain(host)}" if host else ""
        bound = f"CPUs {cpus}" if cpus else "not bound"
        result += wrapped([(f"  rank {number}{where}: ", "label"), (bound, "")], width, indent=6)
    more = len(rows) - _MOST_RANKS
    return [*result, ((f"  and {count(more, 'more row')}; --json lists all", "dim"),)] if more > 0 else result


def _warning(told: LintWarning, width: int) -> list[Line]:
    result = wrapped([("  ", ""), (told.id, "warn title"), (f": {plain(told.what, 600)}", "")], width, indent=4)
    for label, text, style in (("    why   ", told.why, ""), ("    here  ", told.evidence, "dim")):
        result += wrapped([(label, "label"), (plain(text, 600), style)], width, indent=10)
    if told.better:
        result += [(("    better ", "label"), (plain(told.better, 200_000), "title"))]
    return result


def _translations(told: Sequence[LintTranslation], width: int) -> list[Line]:
    """Return every translation; where none can be said for one and the same reason, that reason once."""
    result: list[Line] = []
    if len(told) > 1 and len({each.lost for each in told}) == 1 and not any(each.line for each in told):
        names = ", ".join(title_of(each.launcher) for each in told)
        result = wrapped([("  ", ""), (names, "title"), (": no line known", "unknown")], width, indent=4)
        return result + _lost(told[0], width)
    for each in told:
        result += [(("  ", ""), (title_of(each.launcher), "title"))]
        result += [(("    ", ""), (plain(each.line, 200_000), ""))] if each.line else [(("    no line known", "unknown"),)]
        for name, lines in each.files.items():
            result.append(((f"    {plain(name)}:", "label"),))
            result += [(("      ", ""), (plain(line, 400), "dim")) for line in lines[:_MOST_LINES]]
            if len(lines) > _MOST_LINES:
                result.append(((f"      and {count(len(lines) - _MOST_LINES, 'more line')}; --json lists all", "dim"),))
        result += _lost(each, width)
    return result


def _lost(told: LintTranslation, width: int) -> list[Line]:
    words = ([("    lost  ", "label"), (plain(text, 400), "dim")] for text in told.lost)
    return [line for spans in words for line in wrapped(spans, width, indent=10)]


_DEVICES = ("hca", "gpu")
"""Kinds of devices that ranks are placed by."""

_GLUE = "\u00a0"
"""A blank at which no line is broken (lines.py)."""


def with_ranks(machine: Machine, slots: Sequence[Slot], title: str) -> Picture:
    """Return the picture of a machine with ranks, by their local numbers, in place of its CPUs."""
    seen = picture(machine, infer_layout(machine))
    blocks = []
    for block in seen.blocks:
        boxes = (replace(box, groups=_groups(box, slots), devices=_useful(box.devices)) for box in block.boxes)
        blocks.append(replace(block, boxes=tuple(boxes), devices=_useful(block.devices)))
    devices = _useful(seen.devices)
    drawn = replace(seen, title=title, blocks=tuple(blocks), devices=devices, table=None, statements=(), notes=())
    return drawn if all(slot.cpus <= drawn.cpus for slot in slots) else replace(drawn, notes=("Some CPUs are not drawn.",))


def _useful(devices: Sequence[Device]) -> tuple[Device, ...]:
    return tuple(device for device in devices if device.kind in _DEVICES)


def _groups(box: Box, slots: Sequence[Slot]) -> tuple[Group, ...]:
    """Return the groups with ranks; each member apart where they are of several kinds, in the order of their CPUs."""
    groups = [replace(group, members=tuple(_member(member, slots) for member in group.members)) for group in box.groups]
    if len(groups) == 1:
        return tuple(groups)
    apart = [replace(group, members=(member,)) for group in groups for member in group.members]
    return tuple(sorted(apart, key=lambda group: group.members[0].cpus.first or 0))


def _member(member: Member, slots: Sequence[Slot]) -> Member:
    mine = [(local, slot.cpus & member.cpus) for local, slot in enumerate(slots) if slot.cpus & member.cpus]
    marks = tuple(" ".join(f"r{local}" for local, cpus in mine if cpus & core) for core in member.cores)
    idle = member.cpus - member.denied - union(cpus for _, cpus in mine)
    parts = [*_ranks(member, mine), *([f"idle {_cpus(member, idle)}"] if idle else [])]
    parts += [f"({_cpus(member, member.denied)})"] if member.denied else []
    return replace(member, says="; ".join(part.replace(" ", _GLUE) for part in parts), marks=marks)


def _ranks(member: Member, mine: Sequence[tuple[int, CpuSet]]) -> Iterator[str]:
    """Yield each rank with its CPUs; ranks of a core each that follow one another, together."""
    at = 0
    while at < len(mine):
        end = at + 1
        while end < len(mine) and _follows(member, mine[end - 1], mine[end]):
            end += 1
        first, last = mine[at][0], mine[end - 1][0]
        name = f"r{first}" if first == last else f"r{first}-{last}"
        yield f"{name} {_cpus(member, union(cpus for _, cpus in mine[at:end]))}"
        at = end


def _follows(member: Member, one: tuple[int, CpuSet], other: tuple[int, CpuSet]) -> bool:
    """Whether the next rank has the next number and CPU, and both have one core or one thread of one."""
    (a, first), (b, second) = one, other
    single = all(sum(1 for core in member.cores if core & cpus) == 1 for cpus in (first, second))
    return single and b == a + 1 and (first.first or 0) < (second.first or 0) and len(first) == len(second)


def _cpus(member: Member, cpus: CpuSet) -> str:
    cores = [core & cpus for core in member.cores if core & cpus]
    alike = len({len(core) for core in cores}) == 1 and union(cores) == cpus
    return threads(cores) if alike else listed(cpus)


def ranks_title(names: Sequence[str | None], ranks: int) -> str:
    """Return what stands above a drawing: the hosts it is of, and how to read it."""
    first = names[0] or "This node"
    more = f" and {count(len(names) - 1, 'host')} like it" if len(names) > 1 else ""
    which = "local ranks" if len(names) > 1 else "ranks"
    return (
        f"{first}{more}: {which} r0 to r{ranks - 1}, each with its CPUs" if ranks > 1 else f"{first}{more}: rank r0 with its CPUs"
    )


SCHEMA = "advisor-bind/1"

SHORT = 16
"""Lines of a file that is shown whole."""

COLOURS = 8
"""Ranks in a row that have colours of their own."""

_RANK = re.compile(r"r(\d+)(?:-\d+)? ")

INLINE = 256
"""Lines of a file that JSON holds whole."""

_ROOM = 11
_KINDS = 4
"""So many kinds of nodes are drawn."""

Lines = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class BoundJob:
    """Everything there is to say of a job that is placed and launched."""

    placement: Placement
    machines: Sequence[Machine]
    """The machine of each plan."""
    argv: Sequence[str]
    variables: Mapping[str, str]
    files: Mapping[str, Lines]
    launcher: str
    version: str | None
    form: str
    chosen: str
    """Why this launcher."""
    strategies: Mapping[str, str]
    """What each strategy does, in a sentence."""
    notes: tuple[str, ...] = ()
    avoided: tuple[tuple[str, str], ...] = ()
    written: tuple[str, ...] = ()
    """The files that were written, where they were."""


def command_line(told: BoundJob) -> str:
    """Return the command alone, on one line that a script can run."""
    return " ".join([*assignments(told.variables), *map(word, told.argv)])


def missing_files(told: BoundJob) -> tuple[str, ...]:
    """Return the files that the command needs and that are nowhere yet."""
    return () if told.written else tuple(told.files)


def bind_page(
    told: BoundJob, width: int | None = None, *, explain: bool = False, quiet: bool = False, rows: int | None = None
) -> Page:
    """Return the page: the command first, then why, then rank placement; explain leaves nothing out.

    Quiet is the command and its files alone. On a terminal of so many rows that cannot show all of it the command
    stands once more at the end.
    """

    def lines(room: int) -> list[Line]:
        head = list(_command(told, room))
        body = [*head, *_files(told, room)] if quiet else [*head, *_body(told, room, explain=explain)]
        return [*body, (), *head] if rows is not None and len(body) >= rows else body

    return Page(lines, width)


def _command(told: BoundJob, width: int) -> Iterator[Line]:
    """Yield the command, and right below it what it needs that cannot be pasted."""
    yield from (((each, ""),) for each in exports(told.variables))
    yield from (((each, "title"),) for each in folded(told.argv, width))
    long = [name for name in missing_files(told) if len(list(islice(told.files[name](), SHORT + 1))) > SHORT]
    if long:
        pronoun = "it" if len(long) == 1 else "them"
        text = f"needs {' and '.join(long)}: -o DIR writes {pronoun} and prints this line with the path"
        yield from ((("# ", "warn"), *line) for line in wrapped([(text, "warn")], width - 2, indent=0))


def _body(told: BoundJob, width: int, *, explain: bool) -> list[Line]:
    result = [(), *_reasons(told, width, explain=explain), *_files(told, width)]
    for kind, plan in islice(enumerate(told.placement.plans), None if explain else _KINDS):
        result += [(), *node_lines(told.machines[kind], plan.slots, _title(told, kind), width)]
    return [*result, (), *rank_table(told.placement, width, whole=explain)]


def node_lines(machine: Machine, slots: Sequence[Slot], title: str, width: int) -> list[Line]:
    """Return the drawing of a node with its ranks in their places, and what its colours mean."""
    drawn = with_ranks(machine, slots, title)
    colours = (tuple(_rank_span(*span) for span in line) for line in drawn_lines(drawn, width, whole=True))
    return [*colours, *_legend(drawn, len(slots), width)]


def _title(told: BoundJob, kind: int) -> str:
    names = [host.name for host in told.placement.hosts if host.plan == kind]
    return ranks_title(names, len(told.placement.plans[kind].slots))


def _rank_span(text: str, style: str) -> Span:
    rank = None if style else _RANK.match(text)
    return (text, f"rank {int(rank[1]) % COLOURS}") if rank else (text, style)


def _legend(picture: Picture, ranks: int, width: int) -> list[Line]:
    """Return what the names and colours in a drawing mean."""
    says = [member.says or "" for box in picture.boxes() for member in box.members()]
    parts = ["rN: rank N and its CPUs"] if ranks > 1 else ["r0: the rank and its CPUs"]
    parts += ["+: second hardware threads"] if any("+" in each for each in says) else []
    parts += ["idle: CPUs without a rank"] if any("idle" in each for each in says) else []
    parts += [f"ranks cycle through {COLOURS} colours"] if ranks > 1 else []
    return labelled("Legend", [("; ".join(parts), "dim")], width, _ROOM)


def _reasons(told: BoundJob, width: int, *, explain: bool) -> Iterator[Line]:
    placement = told.placement
    version = f"version {told.version}" if told.version else "version unknown (--launcher-version)"
    rows: list[tuple[str, list[Span]]] = [
        ("Launcher", [(f"{told.launcher}, {version}: {told.chosen}; form: {told.form}", "")]),
        ("Strategy", [(placement.strategy, "title"), (f": {_small(told.strategies[placement.strategy])}", "")]),
        *(("Why", [(why, "")]) for why in placement.why[: None if explain else 1]),
    ]
    if placement.runner_up:
        name, why = placement.runner_up
        rows.append(("Runner-up", [(f"{name}: {why}", "")]))
    rows += [("Note", [(note, "")]) for note in dict.fromkeys(told.notes)]
    rows += [("Avoided", [(f"{form}: {reason}", "")]) for form, reason in told.avoided]
    if explain:
        others = (each for each in told.strategies.items() if each[0] != placement.strategy)
        rows += [("Others", [(f"{name}: {_small(sentence)}", "")]) for name, sentence in others]
    before = ""
    for label, spans in rows:
        yield from labelled("" if label == before else label, spans, width, _ROOM)
        before = label


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _files(told: BoundJob, width: int) -> Iterator[Line]:
    """Yield short files whole, ready to paste, and of the others that they are needed."""
    if told.written:
        for at, name in enumerate(told.written):
            yield from labelled("" if at else "Written", [(name, "")], width, _ROOM)
        return
    for name, lines in told.files.items():
        first = list(islice(lines(), SHORT + 1))
        if len(first) > SHORT:
            continue  # the command says that it needs it
        yield ()
        yield ((f"cat > {name} <<'END'", ""),)
        yield from (((line, ""),) for line in first)
        yield (("END", ""),)


def bind_svg(told: BoundJob) -> str:
    """Return the drawing of the first kind of node as SVG."""
    return draw_svg(bind_picture(told), whole=True)


def bind_picture(told: BoundJob) -> Picture:
    """Return the picture of the first kind of node with its ranks."""
    title = _title(told, 0).partition(", each ")[0]  # large letters, and the legend says the rest
    return with_ranks(told.machines[0], told.placement.plans[0].slots, title)


def bind_document(told: BoundJob) -> Iterator[str]:
    """Yield the lines of the JSON document."""
    placement = told.placement
    runner_up = placement.runner_up and {"strategy": placement.runner_up[0], "why": placement.runner_up[1]}
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "command": list(told.argv),
        "env": dict(told.variables),
        "files": {name: _text(told, name, lines) for name, lines in told.files.items()},
        "launcher": told.launcher,
        "version": told.version,
        "form": told.form,
        "chosen": told.chosen,
        "strategy": placement.strategy,
        "why": list(placement.why),
        "runner_up": runner_up,
        "notes": list(dict.fromkeys(told.notes)),
        "avoided": [{"form": form, "reason": reason} for form, reason in told.avoided],
    }
    return document_lines(placement, values)


def _text(told: BoundJob, name: str, lines: Lines) -> str | None:
    """Return a file's text where it is short, else its path where it was written."""
    first = list(islice(lines(), INLINE + 1))
    if len(first) <= INLINE:
        return "".join(f"{line}\n" for line in first)
    return next((each for each in told.written if each.rpartition("/")[2] == name), None)
