import json
import subprocess

import pytest

from advisor.jobs.bind_page import BoundJob, bind_document, bind_page, bind_svg, plan_lines, rank_table
from advisor.jobs.placement import Placement
from advisor.jobs.started.hosts import fold
from advisor.machine.machine import Machine
from advisor.show.commandline import HERE, folded, launch_script, word
from advisor.show.lines import STYLES
from tests.jobs.place.samples import machine, placed
from tests.printing import printed


def told(placement: Placement, *machines: Machine, **more: object) -> BoundJob:
    """Return what is said of a placement, with a plain line."""
    values: dict[str, object] = {
        "argv": ("mpirun", "-np", str(placement.size), "./app"),
        "variables": {},
        "files": {},
        "launcher": "openmpi5",
        "version": "5.0.6",
        "form": "core",
        "chosen": "as requested",
        "strategies": {placement.strategy: "Do it."},
    }
    return BoundJob(placement, machines, **{**values, **more})  # type: ignore[arg-type]


def page(what: BoundJob, width: int = 100, *, explain: bool = False) -> str:
    """Return the page as a terminal of that width shows it."""
    return printed(bind_page(what, explain=explain), width)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_folded_line_is_the_same_line(width: int) -> None:
    """However narrow, what is copied is what was meant."""
    argv = ("mpirun", "-np", "4", "--map-by", "ppr:1:l3cache:PE=4", "./app", "a b", "it's", "$HOME", "", "--x=1;2", "é", "\t")
    text = "\n".join(folded(argv, width))
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, text=True, check=True)
    assert tuple(done.stdout.split("\0")[:-1]) == argv
    assert width < 200 or "\n" not in text


def test_a_word_that_steers_the_terminal_is_shown_escaped() -> None:
    """Letters that no terminal shows are written as bash reads them."""
    assert word("a\x1b[31m'\n") == "$'a\\x1b[31m\\'\\n'"
    assert word(f"file={HERE}/rank file", '"$here"') == "file=\"$here\"'/rank file'"


def test_a_launch_script_knows_its_folder() -> None:
    """A script names files by the folder it lies in, and leaves the user's words alone."""
    text = "\n".join(launch_script(("mpirun", "--rankfile", f"{HERE}/rankfile", "./a", "$x\ny"), {"A": "b c"}, "job"))
    assert 'here=$(cd "$(dirname "$0")" && pwd) || exit' in text
    assert text.endswith("export A='b c'\nexec mpirun --rankfile \"$here\"/rankfile ./a '$x\ny'")


def test_many_ranks_are_folded() -> None:
    """Of many ranks the first eight and the last are listed; all on request."""
    many = placed("a-r7425-2x7601-dell", ranks_per_node=32, hosts=("a", "b"))
    lines = ["".join(text for text, _ in line) for line in rank_table(many, 80)]
    assert len(lines) == 1 + 8 + 2
    assert (lines[-2].split(), lines[-1].split()[:2]) == (["..."], ["63", "b"])
    assert len(rank_table(many, 80, whole=True)) == 65


def test_a_narrow_table_cuts_lists_not_columns() -> None:
    """In a narrow terminal long CPU lists are cut with an ellipsis."""
    wide = placed("a-r7425-2x7601-dell", ranks=2, threads=20)
    lines = ["".join(text for text, _ in line) for line in rank_table(wide, 40)]
    assert max(map(len, lines)) <= 40
    assert "…" in lines[1]


def test_idle_and_shared_cores_are_drawn() -> None:
    """Where a rank sits is written on its L3, with the CPUs that stay idle beside it."""
    text = page(told(placed("b-c6525-2x7702-nps4", ranks_per_node=32), machine("b-c6525-2x7702-nps4")))
    assert "L3 16 MiB  r0 0; idle 1-3" in text
    smt = page(told(placed("b-c6525-2x7702-nps4-smt", per="l3", threads=4), machine("b-c6525-2x7702-nps4-smt")))
    assert "L3 16 MiB  r0 0-3 +128-131" in smt


def test_outside_the_allocation_is_drawn_in_brackets() -> None:
    """CPUs that the job may not use are in brackets, and are not called idle."""
    text = page(told(placed("job-half-v2", ranks=4), machine("job-half-v2")), 120)
    assert "idle (" not in text
    assert "(In brackets: outside your allocation.)" in text


def test_short_files_are_pasted_and_long_ones_named() -> None:
    """A short file is shown as a command that makes it; of a long one it is said right below the line how it is written."""
    plan = placed("a-r7425-2x7601-dell", ranks=2)
    files = {"rankfile": lambda: iter(["rank 0=a slot=0"]), "long": lambda: (f"{n}" for n in range(100))}
    text = page(told(plan, machine("a-r7425-2x7601-dell"), files=files))
    assert "cat > rankfile <<'END'\nrank 0=a slot=0\nEND\n" in text
    assert "./app\n# needs long: -o DIR writes it and prints this line with the path\n" in text


def test_the_svg_has_every_rank() -> None:
    """The drawing for a page has each rank on its core, and its colour in the legend."""
    text = bind_svg(told(placed("a-r7425-2x7601-dell", ranks=16, near="mlx5_0"), machine("a-r7425-2x7601-dell")))
    assert all(f">r{rank}</text>" in text for rank in range(16))
    assert ">r16</text>" not in text
    assert "core with ranks" in text


def test_documents_are_streamed() -> None:
    """A document's ranks and the plan come line by line, each a JSON value of its own."""
    plan = placed("a-r7425-2x7601-dell", ranks=3)
    first = {"cpus": "0", "numa_nodes": [0], "memory": [0], "policy": None, "hca": "mlx5_0", "gpu": None}
    lines = list(plan_lines(fold(plan)))
    assert json.loads(lines[2].removesuffix(",")) == first
    assert json.loads("\n".join(lines)) == fold(plan).model_dump(mode="json", by_alias=True)
    assert len(list(bind_document(told(plan, machine("a-r7425-2x7601-dell"))))) == 5


def test_names_from_outside_do_not_steer_the_terminal() -> None:
    """An escape sequence in a machine's processor name is not sent to the terminal."""
    real = machine("a-r7425-2x7601-dell")
    assert real.cpu is not None
    hostile = real.model_copy(update={"cpu": real.cpu.model_copy(update={"model_name": "\x1b[31mx"})})
    assert "\x1b" not in page(told(placed("a-r7425-2x7601-dell", ranks=2), hostile))


def test_the_line_stands_last_where_the_drawing_scrolls_it_away() -> None:
    """On a terminal of fewer rows than the page the command is repeated below; on a taller one, and in a file, it is not."""
    what = told(placed("a-r7425-2x7601-dell", ranks=2), machine("a-r7425-2x7601-dell"))
    line = "mpirun -np 2 ./app"
    counts = [printed(bind_page(what, rows=rows), 100).count(f"{line}\n") for rows in (10, 200, None)]
    assert (counts, printed(bind_page(what, rows=10), 100).splitlines()[-1]) == ([2, 1, 1], line)


def test_ranks_have_colours_and_a_legend() -> None:
    """Neighbouring ranks differ in colour in the drawing, and each has its name beside its CPUs; the legend says so."""
    what = told(placed("b-c6525-2x7702-nps4", ranks=32), machine("b-c6525-2x7702-nps4"))
    lines = bind_page(what).lines(100)
    styles = {text.split()[0]: style for line in lines for text, style in line if style.startswith("rank ")}
    assert (styles["r0"], styles["r1"], styles["r9"]) == ("rank 0", "rank 1", "rank 1")
    assert len({STYLES[f"rank {at}"] for at in range(8)}) == 8
    assert "Legend     rN: rank N and its CPUs; idle: CPUs without a rank; ranks cycle through 8 colours" in page(what)
