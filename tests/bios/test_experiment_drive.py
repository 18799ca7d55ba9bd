"""Whatever happens to advisor, the server goes through every restart as planned, and back to where it began."""

from pathlib import Path
from typing import Any

import pytest

from advisor.bios.experiment_server import read_journal
from advisor.machine.hosts.files import FILE
from tests.bios.server import STATES, Machine, Plug, PulledPlug, begin, every_step, go, plan


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only a real power cut needs: waiting for the disk."""
    monkeypatch.setattr("advisor.machine.hosts.files.os.fsync", lambda _: None)


def machine(**habits: Any) -> Machine:
    """Return a machine between the two states, so that neither is where it began."""
    return Machine(states=STATES, **habits)


def at_home(here: Machine) -> bool:
    """Return whether nothing of a machine is as it was not, and nothing waits."""
    waits = {name: value for name, value in here.waiting.items() if value != here.applied[name]}
    return (here.applied, here.kernel, waits) == (*here.home, {})


WANTED = {"never": "1", "always": "4", "madvise": "2"}


def test_every_restart_is_measured_in_its_state_and_the_end_is_the_beginning(tmp_path: Path) -> None:
    """Four restarts and the way back, two states twice, each measured with its own kernel settings."""
    here, what = machine(), plan()
    begin(tmp_path, what)
    ran = go(tmp_path, what, here)
    assert sorted(each["nps"] for each in here.restarts) == ["1", "1", "2", "4", "4"]
    assert here.restarts[-1] == {"nps": "2"}
    assert all(WANTED[kernel["os.thp"]] == applied["nps"] for _, applied, kernel in here.measured)
    assert (len(here.measured), at_home(here), ran.result.complete, ran.wrong) == (12, True, True, ())


def test_a_server_on_which_others_work_is_named_with_its_figures(tmp_path: Path) -> None:
    """It is waited for, for a while; then it is measured all the same, and each restart's note says so."""
    here, what = machine(busy="3.2 of 128 CPUs were busy before the measurement"), plan()
    begin(tmp_path, what)
    ran = go(tmp_path, what, here)
    said = "n1: the server was not idle; its figures may be low: 3.2 of 128 CPUs were busy before the measurement"
    assert (ran.result.notes.count(said), ran.result.complete) == (4, True)


@pytest.mark.parametrize("only_back", [False, True], ids=["resumed", "aborted"])
def test_a_power_cut_at_any_step_is_gone_on_with_or_taken_back(tmp_path: Path, only_back: bool) -> None:
    """Before and after each step and each line of the journal: all is measured in its state, and it ends where it began."""
    what, wrong = plan(), []
    for at, after in every_step(tmp_path / "whole", what, machine):
        folder, here, plug = tmp_path / f"{at}-{after}", machine(), Plug(at, after)
        begin(folder, what)
        try:
            go(folder, what, here, plug=plug)
        except PulledPlug:
            ran = go(folder, what, here, only_back=only_back)
            honest = all(WANTED[kernel["os.thp"]] == applied["nps"] for _, applied, kernel in here.measured)
            whole = only_back or (ran.result.complete and {len(each.restarts) for each in ran.result.cells} == {2})
            if not (at_home(here) and honest and whole and ran.result.where == {"n1": "as before"} and not ran.wrong):
                wrong.append((plug.names[-1], at, after, ran.wrong, here))
    assert wrong == []


def test_power_cuts_one_after_the_other_are_gone_on_with(tmp_path: Path) -> None:
    """Cut after three to seven steps each time, whatever these are, it gets through and home."""
    here, what, cuts = machine(), plan(), 0
    begin(tmp_path, what)
    for _ in range(200):
        try:
            ran = go(tmp_path, what, here, plug=Plug(3 + cuts % 5, after=cuts % 2 == 0))
        except PulledPlug:
            cuts += 1
            continue
        break
    assert (ran.result.complete, at_home(here), cuts > 10) == (True, True, True)


def test_an_abort_that_is_cut_is_gone_on_with(tmp_path: Path) -> None:
    """Cut on the way back, at any step of it, another abort brings it home."""
    what, wrong = plan(), []
    for at in range(1, 12):
        folder, here = tmp_path / str(at), machine()
        begin(folder, what)
        with pytest.raises(PulledPlug):
            go(folder, what, here, plug=Plug(14))
        try:
            go(folder, what, here, plug=Plug(at, after=True), only_back=True)
        except PulledPlug:
            go(folder, what, here, only_back=True)
        wrong += [] if at_home(here) else [(at, here)]
    assert wrong == []


def test_a_line_that_was_cut_off_is_no_step(tmp_path: Path) -> None:
    """A journal that ends in half a line is read up to it, and gone on with."""
    here, what = machine(), plan()
    begin(tmp_path, what)
    with pytest.raises(PulledPlug):
        go(tmp_path, what, here, plug=Plug(9))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"at": "2026-11-23", "node": "n1", "event": "do')
    ran = go(tmp_path, what, here)
    assert (ran.result.complete, at_home(here)) == (True, True)
    assert [each["event"] for each in read_journal(tmp_path).events][-1] == "home"


def test_no_restart_is_asked_for_twice_where_it_came_about(tmp_path: Path) -> None:
    """Cut after the request, before it is written down: the server is found restarting, and not asked again."""
    here, what = machine(), plan()
    begin(tmp_path, what)
    plug = Plug()
    with pytest.raises(PulledPlug):
        go(tmp_path, what, here, plug=Plug(5, after=True))
    go(tmp_path, what, here, plug=plug)
    assert (len(here.restarts), plug.names.count("restart")) == (5, 4)


def test_a_state_that_is_not_in_effect_is_never_measured(tmp_path: Path) -> None:
    """A BMC that says yes and applies nothing: one line, no figure, and back."""
    here, what = machine(lies=frozenset({"applies nothing"})), plan()
    begin(tmp_path, what)
    ran = go(tmp_path, what, here)
    assert (ran.wrong, here.measured, at_home(here)) == (("n1: not in the staged state",), [], True)


def test_a_refused_restart_takes_back_what_was_staged(tmp_path: Path) -> None:
    """Nothing waits afterwards, and nothing was restarted."""
    here, what = machine(broken=lambda _: True), plan()
    begin(tmp_path, what)
    ran = go(tmp_path, what, here)
    assert (ran.wrong, here.restarts, at_home(here)) == (("n1: the BMC refused",), [], True)


def test_a_fault_of_the_program_itself_goes_back_too(tmp_path: Path) -> None:
    """An exception that nobody thought of is one line, and the server is back."""

    def fails(here: Machine, _: str) -> float:
        return 1 / (len(here.measured) - 3)

    here, what = machine(time=fails), plan()
    begin(tmp_path, what)
    ran = go(tmp_path, what, here)
    assert (ran.wrong, at_home(here)) == (("ZeroDivisionError: division by zero",), True)


def test_ctrl_c_goes_back(tmp_path: Path) -> None:
    """In the middle of a run: back at once, with what was measured so far; the experiment can be gone on with."""
    cut = 5

    def interrupts(here: Machine, _: str) -> float:
        if len(here.measured) == cut:
            raise KeyboardInterrupt
        return 10.0

    here, what = machine(time=interrupts), plan()
    begin(tmp_path, what)
    ran = go(tmp_path, what, here)
    first = (ran.interrupted, ran.result.complete, ran.result.done, at_home(here))
    again = go(tmp_path, what, here)
    assert (first, again.result.complete, at_home(here)) == ((True, False, 1, True), True, True)


def test_a_server_that_restarts_by_itself_is_measured_again(tmp_path: Path) -> None:
    """What was measured before somebody else's restart does not count; the restart is done again, and the note says so."""
    here, what = machine(loses_power_at=5), plan()
    begin(tmp_path, what)
    ran = go(tmp_path, what, here)
    assert (len(here.restarts), ran.result.complete, at_home(here)) == (6, True, True)
    assert ran.result.notes == ("n1: a restart and its measurement were repeated: the server restarted while being measured",)


def test_two_servers_are_blocks_of_one_experiment(tmp_path: Path) -> None:
    """Each sees every state equally often, and each goes back; one that fails does not hold up the other."""
    one, two, what = machine(), machine(name="n2", broken=lambda here: len(here.restarts) == 2), plan()
    begin(tmp_path, what, ("n1", "n2"))
    ran = go(tmp_path, what, one, two)
    assert ([len(one.restarts), len(two.restarts)], at_home(one), ran.result.done) == ([5, 2], True, 6)
    assert ran.result.where == {"n1": "as before", "n2": "not yet back"}


def test_the_winner_is_kept_where_that_was_asked_for_and_proven(tmp_path: Path) -> None:
    """Four restarts each and a clear difference: it stays in the better state, and the kernel is as before."""
    here, what = machine(time=lambda it, _: {"1": 10.0, "4": 8.0, "2": 9.0}[it.applied["nps"]] + len(it.measured) / 1000), plan(4)
    begin(tmp_path, what, keep_winner=True)
    ran = go(tmp_path, what, here)
    assert (ran.result.winner, here.applied, here.waiting, ran.result.where) == ("four", {"nps": "4"}, {}, {"n1": "kept"})


def test_keeping_a_winner_survives_a_power_cut_at_any_step(tmp_path: Path) -> None:
    """It ends in the winner's state, once."""

    def made() -> Machine:
        return machine(time=lambda it, _: {"1": 10.0, "4": 8.0, "2": 9.0}[it.applied["nps"]] + len(it.measured) / 1000)

    what, wrong, plug = plan(4, repeats=1), [], Plug()
    begin(tmp_path / "whole", what, keep_winner=True)
    go(tmp_path / "whole", what, made(), plug=plug)
    for at in range(plug.names.index("journal done", plug.steps - 14), plug.steps + 1):
        folder, here = tmp_path / str(at), made()
        begin(folder, what, keep_winner=True)
        with pytest.raises(PulledPlug):
            go(folder, what, here, plug=Plug(at, after=True))
        go(folder, what, here)
        wrong += [] if (here.applied, here.waiting) == ({"nps": "4"}, {}) else [(at, here)]
    assert wrong == []


def test_two_advisors_do_not_work_on_one_experiment(tmp_path: Path) -> None:
    """The second is refused in one line while the first works."""
    from advisor.bios.experiment_server import resumed
    from advisor.errors import CannotWork

    begin(tmp_path, plan())
    first = resumed(tmp_path)
    with pytest.raises(CannotWork, match="in use by another run"):
        resumed(tmp_path)
    first.close()
