"""Plans: what a bad one is told, what a good one comes to."""

from pathlib import Path

import pytest

from advisor.bios.experiment_plan import Program, columns_of, experiment_plan, list_document, listed, ready_programs
from advisor.errors import AdvisorError

GOOD = """\
format: advisor-experiment/1
factors:
  numa.nps: [1, 4]
measure:
  - {name: app, run: ./app}
"""


def said(folder: Path, text: str, **more: object) -> str:
    """Return what a plan is told that is refused."""
    place = folder / "p.yaml"
    place.write_text(text)
    with pytest.raises(AdvisorError) as caught:
        experiment_plan(str(place), **more)  # type: ignore[arg-type]
    return str(caught.value).replace(str(folder), "DIR")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("numa.nps", "numa.npps", "DIR/p.yaml: line 3: numa.npps is not a setting; did you mean numa.nps?"),
        ("[1, 4]", "[1, 3]", "DIR/p.yaml: line 3: numa.nps has no level 3; available: 0, 1, 2, 4"),
        ("[1, 4]", "[1]", "DIR/p.yaml: line 2: there is only one state; an experiment compares at least two states"),
        ("[1, 4]", "[1, 1]", "DIR/p.yaml: line 3: the same level appears twice; leave one of them out"),
        ("numa.nps", "boot.iommu", "DIR/p.yaml: line 3: boot.iommu has no level 1; available: pt, off, default"),
        ("run: ./app", "rum: ./app", "DIR/p.yaml: line 5: rum is not a key of this sheet; did you mean run?"),
        (
            "run: ./app",
            "run: ./app, metric: '(a)(b)'",
            "DIR/p.yaml: line 5: the expression has several groups; capture only",
        ),
        (
            "run: ./app",
            "run: ./app, better: high",
            "DIR/p.yaml: line 5: the figure is wall time in seconds; lower is better",
        ),
        ("run: ./app", "run: './app {place}'", "DIR/p.yaml: line 5: app has {place}, but the plan has no placement"),
        ("{name: app, run: ./app}", "membw2", "DIR/p.yaml: line 5: membw2 is not a built-in program; did you mean membw?"),
        ("format: advisor-experiment/1", "title: x", "DIR/p.yaml: line 1: not an experiment plan"),
        ("factors:", "factors: 3\nx:", "DIR/p.yaml: line "),
        ("measure:", "restarts: 100\nmeasure:", "DIR/p.yaml: line 4: restarts: 100 is more than 32"),
        ("measure:", "restarts: many\nmeasure:", "DIR/p.yaml: line 4: restarts: many is not a whole number"),
    ],
)
def test_a_bad_plan_is_one_line_that_names_file_and_place(old: str, new: str, told: str, tmp_path: Path) -> None:
    """What is wrong, where, and what to write."""
    text = said(tmp_path, GOOD.replace(old, new, 1))
    assert (text.startswith(told), "\n" in text) == (True, False), text


def test_a_setting_that_cannot_be_put_back_is_refused(tmp_path: Path) -> None:
    """Boot options are neither of the BIOS nor of the running kernel."""
    text = said(tmp_path, GOOD.replace("numa.nps: [1, 4]", "boot.iommu: [pt, off]"))
    assert "boot.iommu cannot be set or restored while the system runs" in text


def test_every_combination_is_a_state_but_those_left_out(tmp_path: Path) -> None:
    """Two factors of two and two levels, one left out; a level that all have is in no name."""
    place = tmp_path / "p.yaml"
    place.write_text(
        GOOD.replace(
            "numa.nps: [1, 4]",
            "numa.nps: [1, 4]\n  numa.l3_as_node: [off, on]\n  cpu.smt: [off]\n"
            "leave_out:\n  - {numa.nps: 1, numa.l3_as_node: on}",
        )
    )
    names = [state.name for state in experiment_plan(str(place)).every_state]
    assert names == ["nps=1 l3_as_node=off", "nps=4 l3_as_node=off", "nps=4 l3_as_node=on"]


def test_a_placement_makes_a_column_of_each_program_that_takes_it(tmp_path: Path) -> None:
    """All run at each restart: they are no states."""
    place = tmp_path / "p.yaml"
    place.write_text(
        GOOD.replace("./app}", "'./app {place}'}\n  - {name: other, run: ./other}") + "placement: {near: -n 0, far: -n 1}\n"
    )
    found = [(column.name, words) for column, _, words in columns_of(experiment_plan(str(place)))]
    assert found == [("app near", "-n 0"), ("app far", "-n 1"), ("other", "")]


def test_options_change_a_ready_plan() -> None:
    """--hold, --restarts, --repeats and --partner; where a program needs the partner it is asked for."""
    plan = experiment_plan("preferred-io", hold={"io.preferred_bus": 97}, restarts=6, repeats=1, partner="node02")
    program = plan.measure[0]
    assert isinstance(program, Program)
    assert ([state.set["io.preferred_bus"] for state in plan.every_state], plan.restarts, plan.repeats) == ([97, 97], 6, 1)
    assert "--hosts {node},node02 " in program.run
    with pytest.raises(AdvisorError, match="sends messages to another host, but no host is given; add --partner HOST"):
        experiment_plan("preferred-io")


def test_a_level_that_does_harm_alone_is_refused() -> None:
    """Preferred I/O on goes only with the bus that is preferred."""
    with pytest.raises(AdvisorError, match=r"io.preferred=on needs io.preferred_bus, .*--hold io.preferred_bus=VALUE"):
        experiment_plan("preferred-io", partner="n2")


def test_a_name_that_is_none_is_told_the_nearest() -> None:
    """Of a ready plan."""
    with pytest.raises(AdvisorError, match=r"nps-l2 is neither a built-in plan nor a file; did you mean nps-l3\?"):
        experiment_plan("nps-l2")


def test_the_four_experiments_of_the_articles_are_ready() -> None:
    """By name, with the programs that they measure."""
    assert sorted(listed()) == ["nps-l3", "preferred-io", "snc-avx512", "snoop-mode"]
    assert {"membw", "hpl", "mbw_mr"} <= set(ready_programs())
    assert list_document()["schema"] == "advisor-experiment-list/1"
