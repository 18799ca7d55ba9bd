"""The header comment of a kernel: read whole, and refused with file and line where something is left out."""

from pathlib import Path

import pytest

from advisor.errors import BadInput
from advisor.measure.contract import read_header, read_kernels
from advisor.measure.measurement import KernelSheet, Variant
from tests.kernels.listing import disagreement, listed

TRIAD = Variant(name="triad", unit="bytes/s", arrays=3, read=16, written=8, flops=2, iteration="a = b + s*c, as STREAM does")
HEADER = """/* small: what it measures
 *
 * arguments: --bytes SIZE, --seconds S,
 *   --walk
 * parts: core machine
 *
 *   variant  unit     arrays  read  written  flops  iteration
 *   triad    bytes/s       3    16        8      2  a = b + s*c, as STREAM does
 *   trip     seconds       0     -        -      -  round trip
 *
 * More words.
 */
#include "common/kernel.h"
"""


def read(folder: Path, text: str = HEADER, name: str = "small.c") -> KernelSheet:
    """Return the sheet of a kernel with this source."""
    (folder / name).write_text(text, encoding="utf-8")
    return read_header(folder / name)


def test_everything_is_read(tmp_path: Path) -> None:
    """Name, summary, arguments over two lines, parts, and what each variant costs."""
    sheet = read(tmp_path)
    assert (sheet.name, sheet.summary, sheet.parts, sheet.mpi) == ("small", "what it measures", ("core", "machine"), False)
    assert sheet.arguments == ("--bytes SIZE", "--seconds S", "--walk")
    assert sheet.variants[0] == TRIAD
    assert (sheet.variants[1].unit, sheet.variants[1].read, sheet.variants[1].title) == ("seconds", None, "round trip")


def test_the_title_is_the_iteration_up_to_a_comma() -> None:
    """Tables show it; what comes after the comma is for --list."""
    assert TRIAD.title == "a = b + s*c"


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("/* small: what it measures", "/* Small kernel", 1, "no line '/* small: what it measures'"),
        (" * parts: core machine\n", "", 1, "no line 'parts: those of core, l3, numa, socket, machine that it can run on'"),
        ("core machine", "core node", 5, "parts: must be 'core', 'l3', 'numa', 'socket' or 'machine'"),
        (
            "  flops  iteration",
            "  iteration",
            1,
            "no line 'a variant below the table header variant unit arrays read written flops iteration'",
        ),
        ("triad    bytes/s  ", "triad              ", 8, "triad unit: "),
        ("bytes/s ", "MB ", 8, "triad unit: "),
        ("2  a = b + s*c, as STREAM does", "2", 8, "triad iteration: is missing"),
        ("      2  a", "      x  a", 8, "triad flops: must be a whole number"),
        ("      2  a = b + s*c, as STREAM does", "", 8, "triad iteration: is missing"),
        (
            " * arguments: --bytes SIZE, --seconds S,\n *   --walk\n",
            "",
            1,
            "no line 'arguments: its own options, or none'",
        ),
        ("--seconds S", "seconds S", 3, "arguments: "),
        ("triad  ", "tri+ad ", 8, "tri+ad name: "),
        ("2  a = b + s*c, as", "2  , as", 8, "triad iteration: "),
    ],
)
def test_what_is_left_out_is_named(tmp_path: Path, old: str, new: str, line: int, problem: str) -> None:
    """One line: the file, the line in it, and what belongs there."""
    with pytest.raises(BadInput) as caught:
        read(tmp_path, HEADER.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path}/small.c: line {line}: {problem}")


GUPS = (Path(__file__).parents[2] / "docs" / "examples" / "gups.c").read_text(encoding="utf-8")
NEEDED = {
    1: "no line '/. gups: ",
    3: "no line 'arguments: ",
    4: "no line 'parts: ",
    6: "no line 'a variant below ",
    7: "no line 'a variant below ",
}
"""The lines of the example's header that have to be there, and how it is said."""


@pytest.mark.parametrize("line", range(1, 13))
def test_a_line_of_the_example_that_is_left_out_is_named_or_was_not_needed(tmp_path: Path, line: int) -> None:
    """Each line of its header on its own: an empty one and the text below the table change nothing that is read."""
    lines = GUPS.split("\n")
    (tmp_path / "gups.c").write_text(GUPS, encoding="utf-8")
    whole = read_header(tmp_path / "gups.c")
    (tmp_path / "gups.c").write_text("\n".join(lines[: line - 1] + lines[line:]), encoding="utf-8")
    if line not in NEEDED:
        assert read_header(tmp_path / "gups.c") == whole
        return
    with pytest.raises(BadInput, match=NEEDED[line]):
        read_header(tmp_path / "gups.c")


def test_a_kernel_without_arguments_of_its_own_says_so(tmp_path: Path) -> None:
    """arguments: none."""
    assert read(tmp_path, HEADER.replace("--bytes SIZE, --seconds S,\n *   --walk\n", "none\n")).arguments == ()


def test_one_wrong_header_hides_no_other_kernel(tmp_path: Path) -> None:
    """The others are there; the wrong one is refused when it is asked for."""
    read(tmp_path)
    (tmp_path / "worse.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    found = read_kernels(tmp_path)
    assert (list(found.sheets), list(found.wrong)) == (["small"], ["worse"])
    with pytest.raises(BadInput, match="worse"):
        found.sheet("worse")


def test_a_kernel_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With the nearest name that there is."""
    read(tmp_path)
    with pytest.raises(BadInput, match=r"unknown kernel smal; did you mean small\?"):
        read_kernels(tmp_path).sheet("smal")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"summary": "another"}, "its header comment calls it 'x', its --list 'another'"),
        ({"arguments": ()}, "its --list lacks the argument --bytes SIZE"),
        ({"arguments": ("--bytes SIZE", "--deep")}, "its header comment lacks the argument --deep"),
        ({"variants": (TRIAD, TRIAD.model_copy(update={"name": "add"}))}, "its header comment lacks the variant add"),
        (
            {"variants": (TRIAD.model_copy(update={"unit": "seconds"}),)},
            "unit of triad is bytes/s in its header comment and seconds in its --list",
        ),
        (
            {"variants": (TRIAD.model_copy(update={"flops": None}),)},
            "flops of triad is 2 in its header comment and - in its --list",
        ),
        ({}, None),
    ],
)
def test_header_and_list_say_the_same(change: dict[str, object], said: str | None) -> None:
    """Whatever differs first is named."""
    header = KernelSheet(name="x", summary="x", arguments=("--bytes SIZE",), parts=("core",), variants=(TRIAD,))
    assert disagreement(header, header.model_copy(update=change)) == said


@pytest.mark.parametrize(
    "data", [b"", b"triad bytes/s", b"[]", b'{"summary": "x", "arguments": [], "variants": [{"name": "x"}]}']
)
def test_what_is_no_list_is_refused(data: bytes) -> None:
    """Programs that were built elsewhere may be older, or anything."""
    with pytest.raises(BadInput, match="kernel x: --list prints what is not a list of it"):
        listed("x", data)
