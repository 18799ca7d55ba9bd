"""Draws BIOS changes: the plan as YAML to be edited, what is staged and waits, what the witnesses say, where a rollout is."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from advisor.advice.model.plan import BiosPlan, Change, NotWritten, Owner
from advisor.machine.hardware import Firmware, Scalar
from advisor.machine.units import plain, printable
from advisor.show.lines import Line, Page, labelled, wrapped

_ROOM = 14
_LONGEST = 200
_MOST_LEFT = 4000


def _word(value: object) -> str:
    """Return a value as YAML and JSON write it."""
    return json.dumps(value, ensure_ascii=True)


_CONTRADICTED = "unknown: the registry's rules contradict each other"


def _note(text: str, indent: str) -> Iterator[str]:
    yield f"{indent}# {plain(' '.join(text.split()), 400)}"


def plan_text(
    plan: BiosPlan,
    changes: Iterable[Change],
    moves: Mapping[str, tuple[Scalar | None, Scalar | None]],
    legal: Mapping[str, str],
    *,
    left: Iterable[tuple[str, NotWritten]],
    notes: Iterable[str],
    admitted: Sequence[Change] = (),
) -> str:
    """Return a plan as YAML with comments, which reads back as the same plan."""
    lines = _plan_lines(plan, changes, moves, legal, left=left, notes=notes)
    return "\n".join((*_intent_lines(plan, admitted), *lines)) + "\n"


def _intent_lines(plan: BiosPlan, admitted: Sequence[Change]) -> Iterator[str]:
    """Yield what a plan is for, and which of its changes nothing else asks for."""
    if plan.intent is not None:
        names = ", ".join(plain(each.attribute, _LONGEST) for each in admitted)
        what = f"{len(admitted)} setting{'s' * (len(admitted) != 1)} on which guides differ, each with its guide below: {names}"
        yield f"# --for {plan.intent} adds {what if admitted else 'nothing more here'}"


def _plan_lines(
    plan: BiosPlan,
    changes: Iterable[Change],
    moves: Mapping[str, tuple[Scalar | None, Scalar | None]],
    legal: Mapping[str, str],
    *,
    left: Iterable[tuple[str, NotWritten]],
    notes: Iterable[str],
) -> Iterator[str]:
    yield "# BIOS changes for one server. Delete a change, or choose another of its legal values; then:"
    yield "#   advisor bios stage THIS-FILE --bmc HOST      shows the plan, asks, and stages it; restarts nothing"
    yield f"format: {_word(plan.format)}"
    yield f"machine: {_word(plan.machine)}"
    owner = any(plan.owner.model_dump().values())
    yield (
        "owner:  # the server it applies to; without uuid, every server of this model and BIOS version"
        if owner
        else ("owner: {}  # the file names no server: bios stage shows which one it is, and checks every value again")
    )
    for key, value in plan.owner.model_dump(mode="json").items():
        if value is not None:
            yield f"  {key}: {_word(value)}"
    for key in ("registry", "vendor", "platform", "intent"):
        if (told := getattr(plan, key)) is not None:
            yield f"{key}: {_word(told)}"
    for note in notes:
        yield from _note(note, "")
    yield "changes:" if plan.changes else "changes: []  # nothing to change"
    for change in changes:
        yield from _change_lines(change, legal.get(change.attribute))
    if moves:
        known = (
            "according to the attribute registry (undo restores them too)" if legal else "as published for this kind of server"
        )
        yield f"# Also changed by these settings, {known}:"
        yield from (
            f"#   {plain(name, _LONGEST)}: {_word(now)} -> {_CONTRADICTED if then is None else _word(then)}"
            for name, (now, then) in moves.items()
        )
    before = ""
    for name, each in once(left):
        if name != before:
            yield f"# Not in this plan ({name}):"
        before = name
        what = each.wanted if each.attribute and "=" in each.wanted else f"{each.title}: {each.wanted}"
        yield from _note(f"{what}; {each.reason}" + (f" ({', '.join(each.rules)})" if each.rules else ""), "")


def once(left: Iterable[tuple[str, NotWritten]]) -> Iterator[tuple[str, NotWritten]]:
    """Yield what is left, once where two settings are one attribute: with the rules of both."""
    joined: dict[tuple[str, ...], tuple[str, NotWritten]] = {}
    for name, each in left:
        key = (name, each.attribute or each.title, each.wanted, each.reason)
        if key in joined:
            first = joined[key][1]
            joined[key] = (name, first.but(rules=tuple(dict.fromkeys((*first.rules, *each.rules)))))
        else:
            joined[key] = (name, each)
    yield from joined.values()


def _change_lines(change: Change, legal: str | None) -> Iterator[str]:
    for why in change.why:
        yield from _note(why, "  ")
    if change.first:
        yield from _note(f"needs these first, in the same plan: {', '.join(change.first)}", "  ")
    if legal is not None:
        yield from _note(f"allowed values: {legal}", "  ")
    yield f"  - attribute: {_word(change.attribute)}"
    yield f"    value: {_word(change.value)}"
    if change.now is not None:
        yield f"    now: {_word(change.now)}"


def owner_text(owner: Owner) -> str:
    """Return whose BIOS it is, in one line."""
    server = Firmware(system_vendor=owner.vendor, product=owner.model).sold
    told = (f"BIOS {owner.bios_version}" if owner.bios_version else None, f"UUID {owner.uuid}" if owner.uuid else None)
    return plain(", ".join(part for part in (server, *told, owner.host_name) if part), 300)


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{plain(name, _LONGEST)} = {plain(str(value), _LONGEST)}" for name, value in values.items())


def _listed(label: str, lines: Iterable[str], width: int, style: str = "") -> list[Line]:
    found: list[Line] = []
    for at, text in enumerate(lines):
        found += labelled("" if at else label, [(printable(text), style)], width, _ROOM)
    return found


def read_page(bmc: str, owner: Owner, about: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what was read of a BIOS: whose it is, how many attributes, what waits."""

    def lines(room: int) -> list[Line]:
        named = f"{about['registry']}, which covers {100 * about['share']:.3g} % of them" if about["registry"] else "no registry"
        return [
            *_listed("BMC", [f"{bmc} ({about['verified']})"], room),
            *_listed("Server", [owner_text(owner)], room),
            *_listed("Attributes", [f"{about['attributes']}, explained by {named}"], room),
            *_listed(
                "No registry",
                [f"{about['without']}: only attributes given with --unchecked can be planned"] * bool(about["without"]),
                room,
                "warn",
            ),
            *_listed("Locked", [about["locked"]] * bool(about["locked"]), room, "warn"),
            *_listed("Pending", list(_pairs(about["waiting"])) or ["nothing"], room, "warn" if about["waiting"] else ""),
        ]

    return Page(lines, width)


def staging_page(told: Mapping[str, Any], owner: Owner, *, asking: bool, width: int | None = None) -> Page:
    """Return what is about to be staged, or was, from the document of it."""
    return Page(lambda room: list(_staging_lines(told, owner, room, asking=asking)), width)


def _staging_lines(told: Mapping[str, Any], owner: Owner, width: int, *, asking: bool) -> Iterator[Line]:
    done = told["state"] in ("staged", "applied")
    unchecked = " ".join(f"--unchecked {plain(name, _LONGEST)}" for name in told["asked"]) if told["registry"] is None else ""
    if told["state"] == "nothing to do":
        yield from wrapped(
            [(f"Nothing to {told['doing']}: everything is already set or pending for the next restart.", "good")], width
        )
    elif told["state"] == "withdrawn":
        yield from wrapped([("Undone: the BMC's job, which had not started, was deleted. Nothing was restarted.", "good")], width)
    elif told["state"] == "applied":
        yield from wrapped([("Applied immediately: this BMC does not wait for a restart. Nothing was restarted.", "good")], width)
    elif done:
        yield from wrapped([("Staged for the next restart. Nothing was restarted.", "good")], width)
    yield from _listed("BMC", [f"{told['bmc']} ({told['verified']})"], width)
    yield from _listed("Server", [owner_text(owner)], width)
    rows = (f"{name}: {_shown(each['now'])} -> {_shown(each['then'])}" for name, each in told["asked"].items())
    yield from _listed("Changes", rows, width, "title")
    along = (
        f"{name}: {_shown(each['now'])} -> {_CONTRADICTED if each['then'] is None else _shown(each['then'])}"
        for name, each in told["moves"].items()
    )
    yield from _listed("Also changes", along, width)
    if told["registry"] is None and told["state"] != "nothing to do":
        none = "this BMC has no attribute registry: legal values and dependent changes could not be checked"
        yield from _listed("Not checked", [none], width, "warn")
    yield from _listed("Not written", (f"{name}: {why}" for name, why in told["left"].items()), width, "warn")
    if asking:
        yield from _listed("Undo file", [f"{told['record']}, written before anything else"], width)
    elif done:
        yield from _listed("Pending", _pairs(told["waiting"]), width)
        yield from _listed("Job", [told["job"]] if told["job"] else [], width)
        words = " ".join(part for part in (told["record"], f"--bmc {told['bmc']}", unchecked) if part)
        yield from _listed("Undo", [f"advisor bios undo {words}"], width)
        if told["state"] == "staged":
            restart = f"advisor bios restart --bmc {told['bmc']} --record {told['record']}"
            yield from _listed("Apply", [f"drain the node, then {restart}"], width)


def _shown(value: object) -> str:
    return "not reported" if value is None else plain(str(value), _LONGEST)


def status_page(told: Mapping[str, Any], owner: Owner, width: int | None = None) -> Page:
    """Return what waits for the next restart, from the document of it."""

    def lines(room: int) -> list[Line]:
        waits = [
            f"{plain(name, _LONGEST)}: {_shown(told['now'].get(name))} -> {_shown(to)}" for name, to in told["waiting"].items()
        ]
        return [
            *_listed("BMC", [f"{told['bmc']} ({told['verified']})"], room),
            *_listed("Server", [owner_text(owner)], room),
            *_listed("Power", [told["power"]] if told["power"] else [], room),
            *_listed("Pending", waits or ["nothing for the next restart"], room, "warn" if waits else "good"),
            *_listed("Jobs", (f"{job['state']} {job['link']}" for job in told["jobs"]), room),
        ]

    return Page(lines, width)


def restart_page(told: Mapping[str, Any], owner: Owner, width: int | None = None) -> Page:
    """Return which server is about to be restarted, or was asked to, from the document of it."""

    def lines(room: int) -> list[Line]:
        head = [("A graceful restart was requested from the BMC, once.", "good")] if told["state"] == "asked" else []
        return [
            *(wrapped(head, room) if head else []),
            *_listed("BMC", [told["bmc"]], room),
            *_listed("Restart", [owner_text(owner)], room, "title"),
            *_listed("Scheduler", [told["scheduler"]], room),
            *_listed("Method", [told["kind"]] if told["kind"] != "GracefulRestart" else [], room),
            *_listed("Takes effect", list(_pairs(told["waiting"])) or ["the BMC reports no pending change"], room),
        ]

    return Page(lines, width)


_STYLES = {"holds": "good", "does not hold": "high", "not asked": "dim", "cannot tell": "warn"}


def proof_page(told: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what each witness says, from the document of it."""
    return Page(lambda room: list(_proof_lines(told, room)), width)


def _proof_lines(told: Mapping[str, Any], width: int) -> Iterator[Line]:
    spoke = sum(each["says"] == "holds" for each in told["witnesses"])
    against = [each["witness"] for each in told["witnesses"] if each["says"] == "does not hold"]
    if told["proven"]:
        yield from wrapped([(f"The plan is in effect on {told['bmc']}, confirmed by {spoke} of 3 checks.", "good")], width)
    else:
        by = f", according to {' and '.join(against)}" if against else ": no evidence for it"
        yield from wrapped([(f"The plan is not in effect on {told['bmc']}{by}.", "high")], width)
    for each in told["witnesses"]:
        says = "not checked" if each["says"] == "not asked" else each["says"]
        yield from wrapped([(f"{each['witness']}: ", "label"), (says, _STYLES[each["says"]])], width)
        for line in each["why"]:
            yield from wrapped([(f"  {plain(line, 400)}", "")], width, indent=4)


def fleet_page(told: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what many BMCs said, folded, from the document of it."""
    return Page(lambda room: list(folded_lines(told, room)), width)


def folded_lines(told: Mapping[str, Any], width: int) -> Iterator[Line]:
    """Yield what many said, once each, and by whom."""
    wide = max((len(str(each["count"])) for each in told["folded"]), default=1)
    for each in told["folded"]:
        failed = each["is"].startswith("could not")
        head = [(f"{each['count']:>{wide}} ", "title"), (plain(each["is"], 400), "high" if failed else "")]
        yield from wrapped(head, width, indent=wide + 1)
        yield from wrapped([(f"{'':{wide}} {plain(each['bmcs'], 4000)}", "dim")], width, indent=wide + 1)
    if told["left"]:
        left = plain(told["left"], len(told["left"]))
        again = f"-w '{left}'" if len(left) <= _MOST_LEFT else "too many for one line; --json lists them under left"
        yield from labelled("Continue with", [(again, "")], width, _ROOM)


ENDINGS = {
    "done": "in effect and back in service",
    "proven": "in effect, not back in service",
    "as before": "as before",
    "by hand": "to be inspected by hand",
    "under way": "under way",
}


def rollout_page(told: Mapping[str, Any], width: int | None = None, *, rehearsal: bool = False) -> Page:
    """Return where a rollout is, from the document of it."""
    return Page(lambda room: list(_rollout_lines(told, room, rehearsal=rehearsal)), width)


def _rollout_lines(told: Mapping[str, Any], width: int, *, rehearsal: bool) -> Iterator[Line]:
    counts = ", ".join(f"{count} node{'s' * (count != 1)} {ENDINGS[end]}" for end, count in told["ends"].items() if count)
    wrong = told["stopped"] or told["ends"]["by hand"]
    head = f"Rehearsal on simulated BMCs: {counts}. No server was changed." if rehearsal else f"Rollout: {counts}."
    yield from wrapped([(head, "high" if wrong else "good")], width)
    if told["stopped"]:
        yield from labelled("Stopped", [(plain(told["stopped"], 400), "high")], width, _ROOM)
    yield from folded_lines({"folded": told["folded"], "left": ""}, width)
    for each in told["gains"]:
        for line in each["measured"]:
            yield from labelled("Measured", [(f"{each['node']}: {plain(line, 300)}", "")], width, _ROOM)
    if rehearsal:
        return
    folder = told["folder"]
    if told.get("report"):
        yield from labelled("Report", [(f"{told['report']}, and report.md for a ticket", "")], width, _ROOM)
    proven = next((each["node"] for each in told["nodes"] if each["restarted"] and each["end"] in ("done", "proven")), None)
    if proven is not None:
        pair = f"{folder}/before/{proven}.tar.gz {folder}/after/{proven}.tar.gz"
        yield from labelled("Compare", [(f"advisor compare {pair} -o {proven}.html", "")], width, _ROOM)
    for each in [each for each in told["nodes"] if each["end"] == "by hand"][:3]:
        yield from labelled("Inspect", [(f"advisor bios status --bmc {each['bmc']}", "")], width, _ROOM)
        yield from labelled(
            "Undo", [(f"advisor bios undo {folder}/records/{each['node']}.json --bmc {each['bmc']}", "")], width, _ROOM
        )
    if told["waits_for_approval"] or told["interrupted"] or told["stopped"] or told["ends"]["under way"]:
        yield from labelled("Resume", [(f"advisor bios rollout --resume {folder}", "")], width, _ROOM)
