"""The ReFrame test runs under ReFrame: what was measured passes, and what is slower fails."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.errors import BadValue
from advisor.exports.formats.reframe import spare
from advisor.measure.measurement import Measurements
from tests import exports
from tests.conftest import Golden
from tests.exports import text_of
from tests.measuring import one_result, one_run
from tests.render import measurements

SMALL = one_run(
    [
        one_result(part="socket", index=0, variant="triad", values=(99e9, 100e9, 101e9), distance="spread"),
        one_result(part="socket", index=0, variant="triad-nt", values=(149e9, 150e9, 151e9), distance="spread"),
        one_result(part="numa", index=1, variant="triad", values=(40e9, 50e9, 60e9), distance="local"),
        one_result(part="numa", index=1, variant="triad", values=(90e9,), distance="other-socket"),
        one_result(part="machine", variant="triad", values=(900e9,), refused="above the ceiling"),
    ],
    measurements.IDENTITY,
)


def slower(found: Measurements, factor: float) -> Measurements:
    """Return measurements in which everything is slower."""
    results = (each.model_copy(update={"values": tuple(value * factor for value in each.values)}) for each in found.results)
    return found.model_copy(update={"results": tuple(results)})


def test_it_prints_as_it_did(golden: Golden) -> None:
    """The whole file is kept as a golden text, and is a program of Python."""
    text = text_of("reframe", exports.machine())
    compile(text, "advisor_reframe.py", "exec")
    golden("machine.reframe", text)


def test_references_are_the_best_believed_medians_of_own_memory() -> None:
    """A rejected result and one of the other socket's memory are none; a wide spread makes a wide bound."""
    text = text_of("reframe", replace(exports.machine(), measurements=SMALL))
    assert re.findall(r'"(\w+)": (\(.*\)),', text) == [
        ("numa1", '(50, -0.5, None, "GB/s")'),
        ("socket0", '(150, -0.05, None, "GB/s")'),
    ]


@pytest.mark.parametrize(("values", "wanted"), [((100.0,), 0.05), ((98.0, 100.0, 102.0), 0.089), ((10.0, 100.0, 190.0), 0.5)])
def test_the_bound_is_three_times_the_spread(values: tuple[float, ...], wanted: float) -> None:
    """At least five percent, at most half."""
    assert round(spare(one_result(values=values)), 3) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "status", "says"), [(1.0, 0, "0 failure(s)"), (0.9, 1, "socket0: 135.0 GB/s")])
def test_reframe_holds_a_node_to_what_was_measured(factor: float, status: int, says: str, tmp_path: Path) -> None:
    """The same figures pass; a tenth less of a figure that hardly varies fails, and is named with its reference."""
    tool = exports.program("reframe")
    file, again = tmp_path / "advisor_reframe.py", tmp_path / "again.json"
    file.write_text(text_of("reframe", replace(exports.machine(), measurements=SMALL)))
    again.write_text(slower(SMALL, factor).model_dump_json())
    stand_in = ("-S", "executable=cat", "-S", f"executable_opts={again}")  # the nodes that advisor would measure are not there
    place = ("--prefix", tmp_path / "stage", "--nocolor", "--report-file", tmp_path / "report.json")
    ended, told = exports.said(tool, "-c", file, "-r", *stand_in, *place, HOME=str(tmp_path), TMPDIR=str(tmp_path))
    assert (ended, says in told) == (status, True), told


def test_without_measurements_it_is_refused_with_the_way_to_them() -> None:
    """No reference is ever made up."""
    with pytest.raises(BadValue, match=r"no valid triad .*; measure first: advisor measure membw --save"):
        text_of("reframe", replace(exports.machine(), measurements=None))
