"""A server restarts only where exactly our change waits, and what happened to a write is said: also 5xx, 404 and Ctrl-C."""

import signal
from typing import Any

import pytest

from tests.bios.admin import WISH, Admin, Said
from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, ROOT, USER, Bmc, extended
from tests.bios.machines import own
from tests.bios.makers import MAKERS
from tests.bios.test_killed import killed_at
from tests.bios.wire import Fault, Rack, Request, Response
from tests.machines.catalogue import write_archive

every_maker = pytest.mark.parametrize("maker", MAKERS)


def restarts(admin: Admin, bmc: Bmc, *more: object) -> Said:
    """Type a restart of a drained server with the record of its stage."""
    return admin.types("bios", "restart", "--yes", "--drained", "--no-slurm", "--record", "record.json", *more, bmc=bmc)


def staged(admin: Admin, bmc: Bmc, maker: str) -> None:
    """Stage the usual change."""
    assert admin.stages(bmc, admin.wish(maker)).status == 0


def others_of(bmc: Bmc, maker: str) -> tuple[str, Any]:
    """Return an attribute that is not ours, with another value than it has."""
    mine = {WISH[maker][0], *bmc.oracle.moved(bmc.applied, dict([WISH[maker]]))}
    name = next(each for each, value in bmc.applied.items() if each not in mine and len(bmc.oracle.legal(each)) > 1 and value)
    return name, bmc.another(name, bmc.applied[name])


@every_maker
def test_what_was_staged_is_restarted_with_its_record(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Exactly that waits: one reset."""
    bmc = imitated(maker)
    staged(admin, bmc, maker)
    said = restarts(admin, bmc)
    assert (said.status, bmc.resets) == (0, ["GracefulRestart"]), said.err


@every_maker
def test_a_strangers_change_beside_ours_is_not_restarted(maker: str, imitated: Imitated, admin: Admin) -> None:
    """It is named, and nothing is asked for."""
    bmc = imitated(maker)
    staged(admin, bmc, maker)
    name, value = others_of(bmc, maker)
    bmc.pending[name] = value
    said = restarts(admin, bmc)
    assert (said.status, said.lines, bmc.resets, f"{name}={value}" in said.err) == (2, 1, [], True)


@pytest.mark.parametrize("stranger", [False, True])
def test_a_strangers_change_alone_is_not_restarted(stranger: bool, imitated: Imitated, admin: Admin) -> None:
    """Ours is in effect, or was taken back: of nothing that waits, and of what is not ours."""
    bmc = imitated("lenovo")
    staged(admin, bmc, "lenovo")
    bmc.pending.clear()
    if stranger:
        bmc.pending.update([others_of(bmc, "lenovo")])
    said = restarts(admin, bmc)
    words = "someone else's changes are pending" if stranger else "nothing in the record is pending"
    assert (said.status, said.lines, bmc.resets, words in said.err) == (2, 1, [], True)


def test_part_of_ours_is_not_restarted(imitated: Imitated, admin: Admin) -> None:
    """What in the record is not pending any more is named."""
    bmc = imitated("lenovo")
    name, value = others_of(bmc, "lenovo")
    assert admin.stages(bmc, admin.plan({**dict([WISH["lenovo"]]), name: value})).status == 0
    del bmc.pending[name]
    said = restarts(admin, bmc)
    assert (said.status, bmc.resets, f"{name} in the record is not pending" in said.err) == (2, [], True), said.err


def test_a_job_without_our_values_is_not_restarted(imitated: Imitated, admin: Admin) -> None:
    """Dell: another job for the BIOS, or ours that somebody deleted."""
    bmc = imitated("dell")
    staged(admin, bmc, "dell")
    other = bmc.job()  # type: ignore[attr-defined]
    said = restarts(admin, bmc)
    assert (said.status, bmc.resets, other in said.err) == (2, [], True)
    del bmc.jobs[other.rpartition("/")[2]]
    next(iter(bmc.jobs.values()))["TaskState"] = "Failed"
    said = restarts(admin, bmc)
    assert (said.status, bmc.resets, "the record's job is Failed" in said.err) == (2, [], True)


def test_with_nothing_staged_nothing_may_wait(imitated: Imitated, admin: Admin) -> None:
    """What waits has a record, of whoever staged it."""
    bmc = imitated("lenovo")
    bmc.pending.update([others_of(bmc, "lenovo")])
    said = admin.types("bios", "restart", "--yes", "--drained", "--no-slurm", "--nothing-staged", bmc=bmc)
    assert (said.status, said.lines, bmc.resets, "--record" in said.err) == (2, 1, [], True)


@pytest.mark.parametrize("words", [(), ("--nothing-staged", "--record", "record.json")])
def test_what_a_restart_is_for_is_said_once(words: tuple[str, ...], imitated: Imitated, admin: Admin) -> None:
    """By a record, or by --nothing-staged."""
    bmc = imitated("lenovo")
    said = admin.types("bios", "restart", "--yes", "--drained", *words, bmc=bmc)
    assert (said.status, said.lines, bmc.seen) == (2, 1, [])


def test_without_a_scheduler_drained_is_said_by_hand(imitated: Imitated, admin: Admin) -> None:
    """Whether a server runs jobs nobody else knows."""
    bmc = imitated("lenovo")
    said = admin.types("bios", "restart", "--yes", "--no-slurm", "--nothing-staged", bmc=bmc)
    assert (said.status, said.lines, bmc.resets, "--drained" in said.err) == (2, 1, [], True)


# what happened to a write


@every_maker
@pytest.mark.parametrize("effect", [True, False])
def test_an_error_of_the_server_is_looked_at(maker: str, effect: bool, imitated: Imitated, admin: Admin) -> None:
    """HTTP 500 after it was applied is staged; before it, nothing was."""
    bmc = imitated(maker, faults=[Fault("error", "PATCH", effect=effect)])
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, bool(bmc.pending), len(bmc.writes())) == (0 if effect else 2, effect, 1), said.err
    if maker != "ami" and not effect:
        assert "staging is refused (HTTP 500)" in said.err


def test_a_restart_answered_500_is_not_called_refused(imitated: Imitated, admin: Admin) -> None:
    """Whether it happens is to be looked at; it is not requested again."""
    bmc = imitated("lenovo", faults=[Fault("error", "POST", "Reset", effect=True)])
    said = admin.restarts(bmc)
    assert (said.status, "check whether it was carried out" in said.err, "refused" in said.err) == (2, True, False)


def test_a_settings_object_that_is_gone_is_not_dropped(imitated: Imitated, admin: Admin) -> None:
    """404 after the PATCH: what came of it is not known, and where to look is said."""
    bmc = imitated("lenovo")
    before = bmc.answer

    def answer(request: Request) -> Response:
        gone = bmc.writes() and request.path == bmc.machine.paths["settings"] and request.method == "GET"
        return Response.of(404, extended("Base.1.8.ResourceMissingAtURI")) if gone else before(request)

    bmc.answer = answer  # type: ignore[method-assign]
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, said.lines, "dropped" in said.err, "HTTP 404" in said.err) == (2, 1, False, True)


@pytest.mark.parametrize("maker", ["lenovo", "dell"])
def test_what_is_applied_at_once_does_not_wait(maker: str, imitated: Imitated, admin: Admin) -> None:
    """The BMC that does not wait for a restart is not said to: a whole copy of the attributes, or what differs."""
    bmc = imitated(maker)
    real = bmc.patch

    def patch(path: str, body: Any, headers: dict[str, str]) -> Any:
        said = real(path, body, headers)
        bmc.applied |= bmc.pending
        bmc.pending.clear()
        return said

    bmc.patch = patch  # type: ignore[method-assign]
    words = ("bios", "stage", admin.wish(maker), "--yes", "--record", "record.json")
    said = admin.types(*words, bmc=bmc)
    assert (said.status, "Applied immediately" in said.out, "Apply  " in said.out) == (0, True, False), said.err


@pytest.mark.parametrize(("number", "words"), [(8, "and nothing was written"), (13, "after it was staged")])
def test_an_interrupt_says_whether_it_was_written(number: int, words: str, imitated: Imitated, admin: Admin) -> None:
    """Before the PATCH and behind it, in one line; the session is closed."""
    bmc = imitated("lenovo")
    ended = killed_at(bmc, admin, number, after=True, by=signal.SIGINT)
    assert (ended, words in (admin.folder / "complained").read_text(), bmc.opened - bmc.closed) == (130, True, 0)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_the_session_is_closed_whoever_ends_it(by: signal.Signals, imitated: Imitated, admin: Admin) -> None:
    """A scheduler's TERM, a terminal that is closed: as after Ctrl-C."""
    bmc = imitated("lenovo")
    assert (killed_at(bmc, admin, 8, after=True, by=by), bmc.opened, bmc.closed, bmc.pending) == (130, 1, 1, {})


# files


def test_a_value_put_into_a_record_is_not_staged(imitated: Imitated, admin: Admin) -> None:
    """Undo takes what its registry has, or what was read when the record was written: Banana is neither."""
    bmc = imitated("lenovo")
    staged(admin, bmc, "lenovo")
    bmc.reset({"ResetType": "GracefulRestart"})
    place = admin.folder / "record.json"
    place.write_text(place.read_text().replace('"Processors_SNC": "Disabled"', '"Processors_SNC": "Banana"'))
    said = admin.types("bios", "undo", place, "--yes", "--record", "undo.json", "--json", bmc=bmc)
    assert ("Banana is not a value its registry lists" in said.out, bmc.pending) == (True, {}), said.err


def test_a_bare_bios_without_its_owner_plans_and_stages(imitated: Imitated, admin: Admin) -> None:
    """The answer of GET .../Bios and its registry say nothing of whose they are: the plan says so, and stages."""
    bmc = imitated("dell", machine=own("rome"))
    write_archive("b-c6525-2x7702-nps1", admin.folder / "node.tar.gz")
    for name in ("bios", "registry"):
        (admin.folder / f"{name}.json").write_bytes(bmc.get(bmc.paths[name]).body)
    words = ("bios", "plan", "--bios", "bios.json", "--bios", "registry.json")
    alone = admin.types(*words)
    assert (alone.status, alone.lines, "give --from CAPTURE of that server" in alone.err) == (2, 1, True)
    said = admin.types(*words, "--from", "node.tar.gz", "-o", "plan.yaml")
    assert (said.status, "owner: {}" in (admin.folder / "plan.yaml").read_text()) == (0, True), said.err
    assert (admin.stages(bmc, admin.folder / "plan.yaml").status, bmc.pending) == (0, {"NumaNodesPerSocket": "4"})


def test_without_a_registry_nothing_is_planned_by_name(imitated: Imitated, admin: Admin) -> None:
    """What nobody can check stands below with the reason; --unchecked plans it, and stages it."""
    bmc = imitated("dell", machine=own("rome"))
    bmc.machine.system["Model"] = "PowerEdge C6525"
    bmc.alter[f"{ROOT}/Registries"] = lambda told: {**told, "Members": []}
    write_archive("b-c6525-2x7702-nps1", admin.folder / "node.tar.gz")
    admin.types("bios", "read", "-o", "bios.json", bmc=bmc)
    words = ("bios", "plan", "--from", "node.tar.gz", "--bios", "bios.json")
    found = admin.types(*words, "--json").document
    assert (found["plan"]["changes"], found["left"][0]["wanted"]) == ([], "NumaNodesPerSocket=4")
    assert "it has no attribute registry; --unchecked NAME" in found["left"][0]["reason"]
    more = ("--unchecked", "NumaNodesPerSocket")
    assert admin.types(*words, *more, "-o", "plan.yaml").status == 0
    assert (admin.stages(bmc, admin.folder / "plan.yaml").status, bmc.writes()) == (2, [])
    assert (admin.stages(bmc, admin.folder / "plan.yaml", "record.json", *more).status, bmc.pending) == (
        0,
        {"NumaNodesPerSocket": "4"},
    )
    bmc.jobs.clear()  # a Dell keeps what waits while it has a job of it
    undo = ("bios", "undo", "record.json", "--yes", "--record", "undo.json")
    assert (admin.types(*undo, bmc=bmc).status, admin.types(*undo, *more, bmc=bmc).status, bmc.pending) == (2, 0, {})


def test_a_registry_of_other_attributes_is_none(imitated: Imitated, admin: Admin) -> None:
    """It names less than 95 % of them: how many is said, and nothing is planned by it."""
    bmc = imitated("lenovo")
    bmc.applied |= {f"Odd{at}": "x" for at in range(len(bmc.applied) // 15)}
    said = admin.types("bios", "read", "--width", "200", bmc=bmc)
    told = ("covers only 94% of the attributes", "only attributes given with --unchecked can be planned")
    assert (said.status, [words in said.out for words in told]) == (0, [True, True])


def test_the_file_of_another_model_is_refused(imitated: Imitated, admin: Admin) -> None:
    """An XE8545's BIOS is none of a C6525."""
    bmc = imitated("dell", machine=own("rome"))
    bmc.machine.system["Model"] = "PowerEdge XE8545"
    write_archive("b-c6525-2x7702-nps1", admin.folder / "node.tar.gz")
    admin.types("bios", "read", "-o", "bios.json", bmc=bmc)
    said = admin.types("bios", "plan", "--bios", "bios.json", "--from", "node.tar.gz")
    assert (said.status, said.lines, "are from a PowerEdge XE8545" in said.err) == (2, 1, True)


def test_files_that_are_missing_are_folded(imitated: Imitated, admin: Admin, rack: Rack) -> None:
    """plans/%h.yaml: one line for all."""
    urls = [imitated("lenovo").url, rack.add(MAKERS["lenovo"]()).url]
    (admin.folder / "hosts").write_text("".join(f"node{at} {url}\n" for at, url in enumerate(urls)))
    words = ("bios", "stage", "plans/%h.yaml", "--hostfile", "hosts", "--yes", "--insecure", "--login-file", "login", "--json")
    (admin.folder / "login").write_text(f"{USER}\n{PASSWORD}\n")
    (admin.folder / "login").chmod(0o600)
    folded = admin.types(*words).document["folded"]
    assert [(each["count"], "plans/%h.yaml: no such file" in each["is"]) for each in folded] == [(2, True)]
