"""What is written through a BMC: attributes to its settings object, and one reset; by the laws of docs/bios.md."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from advisor.advice.model.bios_change import out_of_reach
from advisor.bios.connection import Answer, NoAnswer, Resource
from advisor.bios.reading import Controller, waiting
from advisor.errors import CannotWork

if TYPE_CHECKING:
    from advisor.bios.session import Session

_AGAIN: Final = 3
"""Times that a PATCH is sent again after 503 with Retry-After."""
_LONGEST_WAIT: Final = 60
_ENDED: Final = ("Completed", "CompletedWithErrors", "Exception", "Killed", "Cancelled", "Failed", "RebootCompleted")


class Job(NamedTuple):
    """A job of the BMC that applies what was staged."""

    link: str
    state: str
    messages: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Return whether it is over, well or not."""
        return self.state in _ENDED

    @property
    def good(self) -> bool:
        """Return whether it ended well."""
        return self.state in ("Completed", "RebootCompleted")


class Accepted(NamedTuple):
    """What became of a PATCH: the job that was made for it, and what the settings object holds now."""

    job: str | None
    waiting: dict[str, Any]
    answered: bool = True


Same = Callable[[str, Any, Any], bool]
"""Whether two values of an attribute mean the same: a BMC may show the menu's words for what it takes by name."""


def stage(session: "Session", found: Controller, values: Mapping[str, Any], same: Same, other: Mapping[str, Any]) -> Accepted:
    """Write attributes for the next restart and read them again; refuse what changed since it was looked at.

    ``other`` are the same values by the registry's names, for a BMC that shows the menu's words and takes only these
    (Supermicro): they are sent where it refuses the words with HTTP 400, by which nothing was written.
    """
    if taboo := [name for name in values if out_of_reach(name)]:
        session.fail(f"{taboo[0]} is out of reach of any plan: {out_of_reach(taboo[0])}")
    if found.settings_link is None:
        session.fail("its Bios names no settings object: nothing can be staged here; use the vendor's own tool")
    offered = found.offered_times
    if offered and "OnReset" not in offered:
        session.fail(
            f"it takes changes {session.clean(', '.join(offered))} and not at the next restart (OnReset): nothing is staged"
        )
    settings, tag = session.tagged(found.settings_link)
    if waiting(settings, found.applied) != found.waiting or tag != found.tag:
        session.fail("somebody changed what waits since it was looked at: nothing was written; look again")
    spellings = [values, *([{**values, **other}] if other else [])]
    bodies = [{"Attributes": dict(each), **found.apply_time} for each in spellings]
    session.committed = True
    answer = _patch(session, found, found.settings_link, bodies, tag)
    try:
        return _looked_at(session, found, found.settings_link, values, same, answer=answer)
    except _NotStaged as error:
        raise CannotWork(str(error)) from None
    except CannotWork as error:
        how = "it accepted the PATCH" if answer is not None else "no whole answer came to the PATCH"
        raise CannotWork(f"{error}; {how}: whether it is staged, advisor bios status says") from None


class _NotStaged(CannotWork):
    """It was looked at, and is not staged."""


def _looked_at(
    session: "Session", found: Controller, link: str, values: Mapping[str, Any], same: Same, *, answer: Answer | None
) -> Accepted:
    """Return what the settings object holds after a PATCH; refuse what a BMC accepted and dropped."""
    held = waiting(session.tagged(link)[0], found.applied)
    lost = [name for name, value in values.items() if not same(name, held.get(name, found.applied.get(name)), value)]
    if lost and answer is None:
        text = f"no whole answer came to the PATCH, and {_named(lost)} is not staged; look with advisor bios status"
        raise _NotStaged(f"{session.address.name}: {text}")
    if lost:
        raise _NotStaged(f"{session.address.name}: it accepted the PATCH and dropped {_named(lost)}: that is not staged")
    job = answer.headers.get("location") if answer is not None and answer.status == 202 else None
    return Accepted(session.local(job) if job else None, held, answer is not None)


def _named(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _patch(session: "Session", found: Controller, link: str, bodies: list[Resource], tag: str | None) -> Answer | None:
    """Return the answer to the PATCH; None where none came, so that what it did is to be looked at.

    Some BMCs give a weak tag and do not take it (community.general 6434): as long as nothing changed, 412 to it says no more than
    that, and the other ways to write the same tag are tried. Any other 412 stops.
    """
    forms, todo = list(_forms(tag)), list(bodies)
    while forms:
        try:
            answer = _sent(session, link, todo[0], forms[0])
        except NoAnswer:
            return None
        if 200 <= answer.status < 300:
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
    return session.fail("the settings changed under our hands (HTTP 412): nothing was written; look again")


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


def job_at(session: "Session", link: str) -> Job | None:
    """Return how a job is; None where the BMC has forgotten it."""
    found = session.look(link)
    if found is None:
        return None
    state = found.get("TaskState") or found.get("JobState") or "not known"
    told = found.get("Messages")
    texts = [each.get("Message") for each in told[:5] if isinstance(each, dict)] if isinstance(told, list) else []
    return Job(link, session.clean(str(state)), tuple(session.clean(str(each)) for each in texts if each))


def open_jobs(session: "Session") -> list[Job]:
    """Return the jobs of the BMC for its BIOS that have not ended: what they hold may show before it is so."""
    service = session.root.get("Tasks")
    tasks = (session.look(service) or {}).get("Tasks") if isinstance(service, dict) else None
    members = (session.look(tasks) or {}).get("Members") if isinstance(tasks, dict) else None
    found = []
    for member in members[:100] if isinstance(members, list) else ():
        task = session.look(member) or {}
        if "bios" in str(task.get("Name", "")).lower() and task.get("TaskState") not in _ENDED:
            found.append(Job(session.local(member), session.clean(str(task.get("TaskState")))))
    return found


def resets(session: "Session", system: Resource) -> tuple[str, tuple[str, ...]]:
    """Return where a reset is asked for, and which kinds this BMC allows; () where it does not say."""
    actions = system.get("Actions")
    action = actions.get("#ComputerSystem.Reset") if isinstance(actions, dict) else None
    if not isinstance(action, dict) or not isinstance(action.get("target"), str):
        session.fail("its system names no reset: restart it from its operating system")
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


GRACEFUL: Final = "GracefulRestart"


def restart(session: "Session", system: Resource) -> None:
    """Ask once for a graceful restart; a BMC that does not offer it is asked for nothing."""
    target, kinds = resets(session, system)
    if GRACEFUL not in kinds:
        offered = f"it offers {', '.join(kinds)}" if kinds else "it does not say what it offers"
        session.fail(f"no graceful restart here, {session.clean(offered)}: restart it from its operating system")
    try:
        answer = session.ask("POST", target, {"ResetType": GRACEFUL})
    except NoAnswer as error:
        raise CannotWork(f"{error}; the restart was asked for once and is not asked again: look whether it happens") from None
    if answer.status not in (200, 202, 204):
        session.refused(answer, "the restart")
