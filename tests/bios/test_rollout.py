"""A rollout: one node whole, five, the rest; whatever happens, nothing is done twice, and what it says at the end is so."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.bios.drain import REASON
from advisor.bios.rollout import read_journal
from advisor.errors import BadInput, CannotWork
from advisor.machine.hosts.files import FILE
from tests.bios.admin import WISH
from tests.bios.makers import MAKERS
from tests.bios.rollouts import Site, applied, ends, untrue
from tests.bios.server import Plug, PulledPlug
from tests.bios.wire import AFTER, BEFORE, WRONG, Fault, Rack
from tests.examples import ALL, a_third

Sites = Callable[..., Site]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only a real power cut needs: waiting for the disk."""
    monkeypatch.setattr("advisor.machine.hosts.files.os.fsync", lambda _: None)


@pytest.fixture
def sites(rack: Rack, tmp_path: Path) -> Sites:
    """Return what makes a site of so many servers."""
    made = 0

    def make(many: int, maker: str = "lenovo") -> Site:
        nonlocal made
        made += 1
        place = tmp_path / f"site{made}"
        place.mkdir()
        site = Site(place, rack, maker=maker)
        for number in range(1, many + 1):
            site.add(f"n{number}")
        return site

    return make


def order(site: Site) -> list[str]:
    """Return the nodes in the order in which they were drained."""
    return [node for what, node in site.queue.words if what == "drain"]


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_every_node_ends_proven_and_in_service(maker: str, sites: Sites) -> None:
    """Of every vendor: one restart each, drained before and given back after."""
    site = sites(3, maker)
    before = applied(site)
    done = site.go(site.begin())
    assert (ends(done), untrue(site, done, before), done.status) == (dict.fromkeys(("n1", "n2", "n3"), "done"), [], 0)
    assert [bmc.resets for bmc in site.bmcs.values()] == [["GracefulRestart"]] * 3
    assert site.queue.words == [(what, f"n{number}") for number in (1,) for what in ("drain", "resume")] + site.queue.words[2:]


def test_the_first_is_whole_before_others_begin(sites: Sites) -> None:
    """Somebody looks at what it gained; without a yes no other is touched."""
    site = sites(9)
    folder = site.begin()
    done = site.go(folder, approves=False)
    assert (done.asks, done.gains) == (True, (("n1", ("rate: 10 -> 20 1/s, +100.0% (median of 1, one restart)",)),))
    assert [bool(bmc.writes()) for bmc in site.bmcs.values()] == [True] + [False] * 8
    assert ends(site.go(folder)) == dict.fromkeys(site.bmcs, "done")


def test_five_follow_then_so_many_at_a_time(sites: Sites) -> None:
    """Nobody of the rest begins before six are through."""
    site = sites(9)
    site.go(site.begin(at_a_time=2))
    words = site.queue.words
    assert [node for _, node in words[:2]] == ["n1", "n1"]
    assert {node for _, node in words[2:12]} == {f"n{number}" for number in range(2, 7)}
    most, now = 0, 0
    for what, _ in words:
        now += 1 if what == "drain" else -1
        most = max(most, now)
    assert most == 2


def test_it_stops_at_the_first_that_does_not_come_back(sites: Sites) -> None:
    """Nobody is restarted after it; what was staged meanwhile is taken back and given back."""
    site = sites(8)
    site.bmcs["n3"].lies.add("power lost")
    before = applied(site)
    done = site.go(site.begin())
    assert (untrue(site, done, before), done.status, ends(done)["n3"]) == ([], 2, "by hand")
    assert {ends(done)[name] for name in ("n7", "n8")} == {"as before"}
    assert "1 node failed (did not come back, or change not proven): n3" in done.now.stopped


def test_a_first_node_that_is_not_proven_stops_whatever_is_allowed(sites: Sites) -> None:
    """--max-failures 5 is of those that follow it."""
    site = sites(3)
    site.bmcs["n1"].lies.add("applies nothing")
    done = site.go(site.begin(max_failures=5))
    assert (ends(done), [len(bmc.resets) for bmc in site.bmcs.values()]) == (
        {"n1": "by hand", "n2": "as before", "n3": "as before"},
        [1, 0, 0],
    )


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_a_node_that_is_not_proven_is_taken_back_where_that_is_wished(maker: str, sites: Sites) -> None:
    """One more restart, compared with what it was, and given back."""
    site = sites(2, maker)
    site.bmcs["n1"].lies.add("applies another")
    before = applied(site)
    site.bmcs["n1"].on_restart = lambda bmc: bmc.lies.clear() if len(bmc.resets) > 1 else None
    original = site.bmcs["n1"].restart

    def restart() -> None:
        if len(site.bmcs["n1"].resets) > 1:
            site.bmcs["n1"].lies.clear()
        original()

    site.bmcs["n1"].restart = restart  # type: ignore[method-assign]
    site.wrong.clear()
    done = site.go(site.begin(undo_on_failure=True))
    told = {name: dict(bmc.applied) == before[name] for name, bmc in site.bmcs.items()}
    assert (ends(done)["n1"], told, REASON in site.queue.out.values()) == ("as before", {"n1": True, "n2": True}, False)


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_a_strangers_change_is_left_alone(maker: str, sites: Sites) -> None:
    """Neither staged nor restarted, and named; the next one is the first."""
    site = sites(2, maker)
    bmc = site.bmcs["n1"]
    mine = {WISH[maker][0], *bmc.oracle.moved(bmc.applied, dict([WISH[maker]]))}
    name = next(each for each, value in bmc.applied.items() if each not in mine and len(bmc.oracle.legal(each)) > 1 and value)
    other = next(each for each in bmc.oracle.legal(name) if bmc.stored(name, each) != bmc.applied[name])
    bmc.pend({name: other})
    done = site.go(site.begin())
    assert (ends(done), bmc.resets, bmc.writes()) == ({"n1": "as before", "n2": "done"}, [], [])
    assert "someone else's changes are pending" in done.now.nodes[0].why


def test_a_stranger_who_stages_meanwhile_is_left_alone(sites: Sites) -> None:
    """While the node runs its last job: it is not restarted, ours is taken back as far as that goes, and it is by hand."""
    site = sites(1)
    bmc = site.bmcs["n1"]
    site.queue.jobs["n1"] = 3
    state = site.queue.state

    def meanwhile(node: str) -> Any:
        said = state(node)
        if said.free:
            bmc.pending["Memory_MirrorMode"] = "Full"
        return said

    site.queue.state = meanwhile  # type: ignore[method-assign]
    bmc.applied.setdefault("Memory_MirrorMode", "Disable")
    done = site.go(site.begin())
    assert (bmc.resets, ends(done)["n1"]) == ([], "by hand")


def test_jobs_run_to_their_end(sites: Sites) -> None:
    """A node is not restarted before; one that is never free is taken back and given back."""
    site = sites(2)
    site.queue.jobs.update(n1=4, n2=10**9)
    before = applied(site)
    done = site.go(site.begin(drain_hours=1))
    assert (ends(done), untrue(site, done, before)) == ({"n1": "done", "n2": "as before"}, [])
    assert "runs jobs 1 hours after" in done.now.nodes[1].why


def test_who_drained_a_node_before_gets_it_back_drained(sites: Sites) -> None:
    """It is restarted and proven, and left out of service."""
    site = sites(1)
    site.queue.out["n1"] = "disk"
    done = site.go(site.begin())
    assert (ends(done), site.queue.out, site.queue.words) == ({"n1": "done"}, {"n1": "disk"}, [])
    assert "already drained" in done.now.nodes[0].why


def test_a_node_that_cannot_be_given_back_is_proven(sites: Sites) -> None:
    """In effect, and out of service: both are said."""
    site = sites(1)

    def refuse(node: str) -> None:
        raise CannotWork(f"no permission for {node}")

    site.queue.resume = refuse  # type: ignore[method-assign]
    done = site.go(site.begin())
    assert (ends(done), "no permission" in done.now.nodes[0].why) == ({"n1": "proven"}, True)


def test_what_is_so_already_is_not_restarted(sites: Sites) -> None:
    """Done, without a drain."""
    site = sites(2)
    bmc = site.bmcs["n1"]
    bmc.applied[WISH["lenovo"][0]] = WISH["lenovo"][1]
    bmc.applied |= bmc.oracle.moved(bmc.applied, dict([WISH["lenovo"]]))
    done = site.go(site.begin())
    assert (ends(done), bmc.resets, bmc.writes()) == ({"n1": "done", "n2": "done"}, [], [])


def test_a_node_of_another_server_is_refused(sites: Sites) -> None:
    """Its UUID is not the BMC's: nothing is written, for another server would be drained."""
    site = sites(2)
    bmc = site.bmcs["n1"]
    real = type(bmc).system
    bmc.system = lambda: real(bmc) | {"UUID": "00000000-1111-2222-3333-444444444444"}  # type: ignore[method-assign]
    done = site.go(site.begin())
    assert (ends(done)["n1"], bmc.writes(), "it is not the server managed by" in done.now.nodes[0].why) == ("as before", [], True)


def test_an_abort_takes_back_what_is_not_restarted(sites: Sites) -> None:
    """What was asked to restart goes on to its proof."""
    site = sites(7)
    before = applied(site)
    folder = site.begin(at_a_time=5)
    site.queue.jobs.update({f"n{number}": 10**9 for number in range(4, 8)})
    site.plug = Plug()
    site.queue.jobs["n4"] = 10**9
    count = 0
    state = site.queue.state

    def state_of(node: str) -> Any:
        nonlocal count
        count += node == "n4"
        if count > 20:
            raise PulledPlug
        return state(node)

    site.queue.state = state_of  # type: ignore[method-assign]
    with pytest.raises(PulledPlug):
        site.go(folder)
    site.queue.state = state  # type: ignore[method-assign]
    done = site.go(folder, abort=True)
    assert untrue(site, done, before) == []
    assert [ends(done)[f"n{number}"] for number in range(1, 8)] == ["done"] * 3 + ["as before"] * 4


def test_a_rollout_that_stopped_is_gone_on_with(sites: Sites) -> None:
    """Once somebody has looked, those that were not begun follow; the one by hand stays so."""
    site = sites(4)
    site.bmcs["n2"].lies.add("applies nothing")
    folder = site.begin()
    assert site.go(folder).status == 2
    assert {name: end for name, end in ends(site.go(folder)).items() if name != "n2"}.keys() == {"n1", "n3", "n4"}
    assert ends(site.go(folder))["n2"] == "by hand"


# kill -9


def every_step(sites: Sites, many: int, prepared: Callable[[Site], None], **more: Any) -> Iterator[tuple[int, bool]]:
    """Yield each line of a rollout's journal, before it is written and after."""
    site = sites(many)
    prepared(site)
    site.go(site.begin(**more))
    for at in range(1, site.plug.steps + 1):
        yield at, False
        yield at, True


def nothing(_: Site) -> None:
    """Leave a site as it is."""


def not_taken(site: Site) -> None:
    """Let the second node's BMC say yes, and apply nothing."""
    site.bmcs["n2"].lies.add("applies nothing")


def busy(site: Site) -> None:
    """Let a node run a job that does not end."""
    site.queue.jobs["n2"] = 10**9


@pytest.mark.parametrize(
    ("prepared", "more"),
    [(nothing, {}), (not_taken, {"undo_on_failure": True}), (busy, {"drain_hours": 0.1})],
    ids=["all go well", "one is taken back", "one is never free"],
)
def test_killed_at_any_step_it_is_gone_on_with(prepared: Callable[[Site], None], more: dict[str, Any], sites: Sites) -> None:
    """Before and after each line of the journal: nothing twice, nothing forgotten, and the summary is true."""
    wrong = []
    for at, after in list(every_step(sites, 2, prepared, **more))[:: 1 if ALL else 3]:
        site = sites(2)
        prepared(site)
        before, folder = applied(site), site.begin(**more)
        site.plug = Plug(at, after)
        try:
            done = site.go(folder)
        except PulledPlug:
            site.plug = Plug()
            done = site.go(folder)
        if told := untrue(site, done, before):
            wrong.append((at, after, told))
        if ends(done)["n1"] != "done":
            wrong.append((at, after, [done.now.nodes[0].word]))
    assert wrong == []


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_killed_between_a_write_and_its_record(maker: str, sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    """The PATCH is done and its job not in the record: the job is taken for ours, for exactly our change waits."""
    site = sites(1, maker)
    folder = site.begin()

    def killed(*_: object) -> None:
        raise PulledPlug

    with monkeypatch.context() as patched:
        patched.setattr("advisor.bios.stage._say_it_is_staged", killed)
        with pytest.raises(PulledPlug):
            site.go(folder)
    done, bmc = site.go(folder), site.bmcs["n1"]
    assert (ends(done), len(bmc.requests("PATCH")), bmc.resets) == ({"n1": "done"}, 1, ["GracefulRestart"])


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_a_write_without_an_answer_is_looked_at(maker: str, sites: Sites) -> None:
    """It was carried out: the node goes on, also where a job was made of it."""
    site = sites(1, maker)
    bmc = site.bmcs["n1"]
    bmc.faults.append(Fault("effect", "PATCH"))
    done = site.go(site.begin())
    assert (ends(done), len(bmc.requests("PATCH")), bmc.resets) == ({"n1": "done"}, 1, ["GracefulRestart"])


def test_a_line_that_was_cut_off_is_no_step(sites: Sites) -> None:
    """A journal that ends in half a line is read up to it."""
    site = sites(1)
    folder = site.begin()
    site.plug = Plug(4)
    with pytest.raises(PulledPlug):
        site.go(folder)
    with (folder / FILE).open("ab") as file:
        file.write(b'{"at": "2026-11-27", "node": "n1", "event": "do')
    site.plug = Plug()
    assert ends(site.go(folder)) == {"n1": "done"}


@pytest.mark.parametrize(
    "line", ['{"node": "n1", "event": "flew"}', '{"node": "x", "event": "stage"}', '{"event": "stage"}', "[]", "no"]
)
def test_a_damaged_journal_is_refused_in_one_line(line: str, sites: Sites) -> None:
    """With the line's number; nothing is done by it."""
    site = sites(1)
    folder = site.begin()
    with (folder / FILE).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(BadInput, match="line 2"):
        read_journal(folder)


# faults

_QUICK = tuple(kind for kind in (*BEFORE, *AFTER, *WRONG) if kind not in ("endless", "endless headers", "packed", "always busy"))
PLACES = (("PATCH", ""), ("POST", "Reset"), ("GET", "/Bios"), ("POST", "Sessions"))
FAULTS = [
    (kind, *place, effect) for kind in _QUICK for place in PLACES for effect in ((False, True) if kind in WRONG else (False,))
]
"""Of a kind, at a request, carried out all the same or not: over 100."""


@pytest.mark.parametrize("fault", a_third(FAULTS))
@pytest.mark.parametrize("skip", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)])
def test_whatever_a_bmc_answers_the_summary_is_true(fault: tuple[str, str, str, bool], skip: int, sites: Sites) -> None:
    """One fault at one request of one of two nodes: nothing twice, nothing of a stranger's, every node says what is so."""
    (kind, method, path, effect), site = fault, sites(2)
    before, value = applied(site), "http://127.0.0.1:1/" if fault[0] in ("redirect", "link") else ""
    site.bmcs["n1"].faults.append(Fault(kind, method, path, skip=skip, effect=effect, value=value))
    done = site.go(site.begin(restart_minutes=5))
    assert untrue(site, done, before) == []
