"""What is written through a BMC: attributes to its settings object, one reset, its own job taken back; by docs/bios.md."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from advisor.advice.model.plan import out_of_reach
from advisor.bios.connection import Answer, NoAnswer, Resource
from advisor.bios.reading import Controller, open_jobs, plain_values, waiting
from advisor.errors import CannotWork, Interrupted

if TYPE_CHECKING:
    from advisor.bios.session import Session

_AGAIN = 3
"""Times that a PATCH is sent again after 503 with Retry-After."""
_LONGEST_WAIT = 60


class Accepted(NamedTuple):
    """What became of a PATCH: the job that was made for it, what the settings object holds now, and what is so already."""

    job: str | None
    waiting: dict[str, Any]
    applied: tuple[str, ...] = ()
    """What this BMC applied at once."""
    answered: bool = True


Same = Callable[[str, Any, Any], bool]
"""Whether two values of an attribute mean the same: a BMC may show the menu's words for what it takes by name."""


def stage(session: "Session", found: Controller, values: Mapping[str, Any], same: Same, other: Mapping[str, Any]) -> Accepted:
    """Write attributes for the next restart and read them again; refuse what changed since it was looked at.

    ``other`` are the same values by the registry's names, for a BMC that shows the menu's words and takes only these
    (Supermicro): they are sent where it refuses the words with HTTP 400, by which nothing was written.
    """
    if taboo := [name for name in values if out_of_reach(name)]:
        session.fail(f"{taboo[0]} cannot be part of any plan: {out_of_reach(taboo[0])}")
    if found.settings_link is None:
        session.fail("its Bios resource has no settings object, so nothing can be staged; use the vendor's own tool")
    offered = found.offered_times
    if offered and "OnReset" not in offered:
        session.fail(
            f"it applies changes {session.clean(', '.join(offered))}, not at the next restart (OnReset): nothing is staged"
        )
    settings, tag = session.tagged(found.settings_link)
    if waiting(settings, found.applied) != found.waiting or tag != found.tag:
        session.fail("the pending settings changed in the meantime; nothing was written; read them again")
    spellings = [values, *([{**values, **other}] if other else [])]
    bodies = [{"Attributes": dict(each), **found.apply_time} for each in spellings]
    session.committed = True
    answer = _patch(session, found, found.settings_link, bodies, tag)
    try:
        held, applied, lost = _looked_at(session, found, found.settings_link, values, same)
        job = answer.headers.get("location") if answer is not None and answer.status == 202 else None
        job = session.local(job) if job else _the_job(session) if answer is None else None
    except CannotWork as error:
        how = "no complete answer to the PATCH arrived" if answer is None else "the BMC accepted the PATCH"
        how = f"the PATCH was answered with HTTP {answer.status}" if answer is not None and answer.status >= 500 else how
        raise CannotWork(f"{error}; {how}; use advisor bios status to check whether it is staged") from None
    if lost and answer is None:
        session.fail(f"no complete answer to the PATCH arrived, and {_named(lost)} is not staged; check with advisor bios status")
    if answer is not None and lost and answer.status >= 500:
        session.refused(answer, "staging")  # it was looked at: nothing of it is staged
    if lost:
        session.fail(f"it accepted the PATCH but dropped {_named(lost)}, which is not staged")
    return Accepted(job, held, applied, answer is not None and answer.status < 500)


def _the_job(session: "Session") -> str | None:
    """Return the job for the BIOS that waits, where no answer named it: a Dell makes one, and takes no other beside it."""
    jobs = [job for job in open_jobs(session) if not job.ended]
    return jobs[0].link if len(jobs) == 1 else None


def _looked_at(
    session: "Session", found: Controller, link: str, values: Mapping[str, Any], same: Same
) -> tuple[dict[str, Any], tuple[str, ...], list[str]]:
    """Return what waits after a PATCH, what of it is so already, and what is neither."""
    settings, _ = session.tagged(link)
    bios = session.look(found.system["Bios"]) or {}
    now = plain_values(bios["Attributes"]) if isinstance(bios.get("Attributes"), dict) else {}
    kept = (settings or {}).get("Attributes")
    whole = settings is None or (isinstance(kept, dict) and 2 * len(kept) > len(found.applied))
    held = waiting(settings, found.applied)
    new = [name for name, value in values.items() if not same(name, found.applied.get(name), value)]
    applied = tuple(name for name in new if same(name, now.get(name), values[name]) and (whole or name not in held))
    rest = [name for name in values if name not in applied]
    lost = [name for name in rest if not same(name, held.get(name, found.applied.get(name)), values[name])]
    if settings is None and lost:
        session.fail("its settings object cannot be read again (HTTP 404)")
    return {name: value for name, value in held.items() if name not in applied}, applied, lost


def _named(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _patch(session: "Session", found: Controller, link: str, bodies: list[Resource], tag: str | None) -> Answer | None:
    """Return the answer to the PATCH; None where none came. What that did, or a 5xx, is to be looked at.

    Some BMCs give a weak tag and do not take it (community.general 6434): as long as nothing changed, 412 to it says no more than
    that, and the other ways to write the same tag are tried. Any other 412 stops.
    """
    forms, todo = list(_forms(tag)), list(bodies)
    while forms:
        try:
            answer = _sent(session, link, todo[0], forms[0])
        except NoAnswer:
            return None
        if 200 <= answer.status < 300 or answer.status >= 500:
            return answer
        if answer.status == 400 and len(todo) > 1:
            todo.pop(0)
        elif answer.status == 412:
            forms.pop(0)
        else:
            session.refused(answer, "staging")
        settings, now = session.tagged(link)
        if now != tag or waiting(settings, found.applied) != found.waiting:
            break
    return session.fail("the settings changed in the meantime (HTTP 412); nothing was written; read them again")


def _forms(tag: str | None) -> tuple[str, ...]:
    if tag is None:
        return ("*",)
    weak = re.fullmatch(r'W/("[^"]*")', tag)
    return (tag, weak[1], weak[1].strip('"')) if weak else (tag,)


def _sent(session: "Session", link: str, body: Resource, tag: str) -> Answer:
    answer = session.ask("PATCH", link, body, {"If-Match": tag})
    for _ in range(_AGAIN):
        wait = answer.headers.get("retry-after", "")
        if answer.status != 503 or not re.fullmatch("[0-9]{1,9}", wait):
            break
        session.pause(min(int(wait), _LONGEST_WAIT))
        answer = session.ask("PATCH", link, body, {"If-Match": tag})
    return answer


def resets(session: "Session", system: Resource) -> tuple[str, tuple[str, ...]]:
    """Return where a reset is asked for, and which kinds this BMC allows; () where it does not say."""
    actions = system.get("Actions")
    action = actions.get("#ComputerSystem.Reset") if isinstance(actions, dict) else None
    if not isinstance(action, dict) or not isinstance(action.get("target"), str):
        session.fail("this BMC offers no reset action: restart the server from its operating system")
    kinds = action.get("ResetType@Redfish.AllowableValues")
    if not isinstance(kinds, list) and action.get("@Redfish.ActionInfo"):
        told = (session.look(action["@Redfish.ActionInfo"]) or {}).get("Parameters")
        named = (
            [each for each in told if isinstance(each, dict) and each.get("Name") == "ResetType"]
            if isinstance(told, list)
            else []
        )
        kinds = named[0].get("AllowableValues") if named else None
    target = session.local(action["target"])
    return target, tuple(each for each in kinds if isinstance(each, str)) if isinstance(kinds, list) else ()


GRACEFUL = "GracefulRestart"
_SHUTDOWN, _ON = "GracefulShutdown", "On"
_CHECK_IT = "will not be requested again; check whether it was carried out"
_LOOKS = 90
_BETWEEN = 10.0
"""Looks and seconds between them, at a server that shuts down: 15 minutes."""


class Unclear(CannotWork):
    """A reset was asked for, and whether it happens is to be looked at."""


def restart_kind(session: "Session", system: Resource) -> str:
    """Return how a server is restarted gracefully here; refuse where its BMC offers no such way."""
    _, kinds = resets(session, system)
    if GRACEFUL in kinds:
        return GRACEFUL
    if {_SHUTDOWN, _ON} <= set(kinds):
        return f"{_SHUTDOWN}, then {_ON}"
    offered = f"it offers {', '.join(kinds)}" if kinds else "it does not list its reset types"
    return session.fail(f"no graceful restart available ({session.clean(offered)}): restart it from its operating system")


def restart(session: "Session", system: Resource) -> None:
    """Ask once for a graceful restart; where the BMC has none (DGX), for a graceful shutdown, and for power once it is off."""
    target, _ = resets(session, system)
    if restart_kind(session, system) == GRACEFUL:
        _reset(session, target, GRACEFUL, "the restart")
        return
    _reset(session, target, _SHUTDOWN, "the shutdown")
    try:
        _wait_until_off(session, system)
    except (KeyboardInterrupt, Interrupted) as error:
        raise type(error)(
            f"{session.address.name}: interrupted after requesting a shutdown; power the server on once it is off"
        ) from None
    start(session, system)


def start(session: "Session", system: Resource) -> None:
    """Ask once for power, of a server that is off."""
    _reset(session, resets(session, system)[0], _ON, "the start")


def _wait_until_off(session: "Session", system: Resource) -> None:
    for _ in range(_LOOKS):
        if session.get(system).get("PowerState") == "Off":
            return
        session.pause(_BETWEEN)
    minutes = _LOOKS * _BETWEEN / 60
    told = f"it was asked once to shut down but is still on after {minutes:.0f} minutes; it was not forced off: check its console"
    raise Unclear(f"{session.address.name}: {told}")


def _reset(session: "Session", target: str, kind: str, what: str) -> None:
    try:
        answer = session.ask("POST", target, {"ResetType": kind})
    except NoAnswer as error:
        raise Unclear(f"{error}; {what} was requested once and {_CHECK_IT}") from None
    if answer.status >= 500:
        said = session.said(answer) or "no reason given"
        told = f"{what} was answered with HTTP {answer.status} ({said}) and {_CHECK_IT}"
        raise Unclear(f"{session.address.name}: {session.clean(told)}")
    if answer.status not in (200, 202, 204):
        session.refused(answer, what)


def withdraw(session: "Session", job: str) -> None:
    """Delete one job of our own that has not begun, once; what it was to apply is then pending no more."""
    try:
        answer = session.ask("DELETE", job)
    except NoAnswer as error:
        raise CannotWork(f"{error}; it is unknown whether its job {job} was deleted: check with advisor bios status") from None
    if answer.status not in (200, 202, 204, 404):
        session.refused(answer, f"deleting our job {job}")
