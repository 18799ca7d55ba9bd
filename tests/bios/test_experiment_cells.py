"""What restarts show of states."""

from typing import Any

from advisor.bios.experiment_plan import Column, Design, Unit, cells, schedule, winner

RATE = Column(name="rate", unit="GB/s", better="high")
TIME = Column(name="time", unit="s", better="low")


def design(restarts: int = 4, states: int = 2, columns: tuple[Column, ...] = (RATE,), **more: Any) -> Design:
    """Return a design."""
    names = ["one", "two", "three"][:states]
    units = [unit for node in schedule(states, restarts, more.get("nodes", 1), "random", 3) for unit in node]
    return Design(names, columns, units, restarts, more.get("nodes", 1), "random", 0.02)


def figures(what: Design, value: Any) -> dict[tuple[int, int, str], list[float]]:
    """Return three runs of each restart, alike as runs of one restart are."""
    return {
        (unit.node, unit.number, column.name): [value(unit, column) + run / 1e6 for run in range(3)]
        for unit in what.units
        for column in what.columns
    }


def rising(unit: Unit, column: Column) -> float:
    """Return a figure that is ten percent higher in the second state."""
    del column
    return 100.0 * (1 + 0.1 * unit.state) + unit.number / 100


def says(what: Design, given: Any, *, complete: bool = True) -> list[str]:
    """Return what is said of each cell."""
    return [cell.says for cell in cells(what, given, complete=complete)]


def test_four_restarts_each_are_proven() -> None:
    """Ten percent more of a rate is better, of a time worse."""
    rate, time = design(), design(columns=(TIME,))
    assert says(rate, figures(rate, rising)) == ["first", "better"]
    assert says(time, figures(time, rising)) == ["first", "worse"]


def test_repeats_inside_a_restart_prove_nothing() -> None:
    """A hundred runs at each of two restarts are two figures: described."""
    what = design(2)
    given = {key: values * 34 for key, values in figures(what, rising).items()}
    found = cells(what, given, complete=True)
    assert [(cell.says, cell.p, cell.low, len(cell.restarts)) for cell in found] == [
        ("first", None, None, 2),
        ("described", None, None, 2),
    ]


def test_two_comparisons_take_five_restarts() -> None:
    """Four each of three states describe; five prove."""
    four, five = design(4, 3), design(5, 3)
    assert says(four, figures(four, rising)) == ["first", "described", "described"]
    assert says(five, figures(five, rising)) == ["first", "better", "better"]


def test_an_experiment_that_was_ended_early_has_no_verdict() -> None:
    """Whoever looks and stops chooses the moment: figures, no p."""
    what = design()
    assert says(what, figures(what, rising), complete=False) == ["first", "described"]


def test_a_program_that_failed_at_a_restart_has_no_verdict() -> None:
    """It is counted, and the others' figures are shown."""
    what = design()
    given = figures(what, rising)
    first = next(unit for unit in what.units if unit.state == 1)
    given[first.node, first.number, "rate"] = []
    found = cells(what, given, complete=True)[1]
    assert (found.says, found.failed, len(found.restarts)) == ("described", 1, 3)


def test_equal_states_are_no_difference_above_the_worth() -> None:
    """All figures within a thousandth: the whole interval is smaller than 2 %."""
    what = design()
    assert says(what, figures(what, lambda unit, _: 100 + (unit.number * 37 % 8) / 100)) == ["first", "no difference"]


def test_nodes_that_differ_do_not_hide_a_difference() -> None:
    """Two servers, one twice as fast: the state is compared inside each."""
    what = design(3, nodes=2)
    assert says(what, figures(what, lambda unit, column: rising(unit, column) * (1 + unit.node))) == ["first", "better"]


def test_a_winner_is_better_in_the_first_column_and_worse_in_none() -> None:
    """What gives more bandwidth and takes longer has not won."""
    what = design(5, columns=(RATE, TIME))
    both = cells(what, figures(what, rising), complete=True)
    rate = cells(
        what, figures(what, lambda unit, column: rising(unit, column) if column is RATE else 5 + unit.number / 1e4), complete=True
    )
    assert (winner(what, both), winner(what, rate)) == (None, "two")
