from advisor.advice.checklist_page import compared, proof_lines, proof_of
from advisor.advice.model.plan import Checklist
from tests.know.listed import asks, listed, state


def said(checklist: Checklist) -> list[str]:
    """Return what each line says of its proof."""
    return [proof_of(checklist, item) for item in checklist.items]


def test_each_line_names_its_benchmark_and_what_it_should_show() -> None:
    """A command with the published value, its condition and source; or a command alone; or that no benchmark shows it."""
    found = said(listed([asks("numa-nps-x", "numa.nps", "4"), state("scheduler-x", "scheduler"), state("firmware-x", "bios")]))
    assert sorted(found) == [
        "advisor measure membw: STREAM triad of the machine 13 % above NPS1 (2 sockets; NPS4; 3200 MT/s) [dell-rome-2019]",
        "advisor verify: where the ranks of a job really run",
        "no benchmark covers it; use the check",
    ]


def test_where_nothing_is_published_it_says_so() -> None:
    """A platform that is not known has no published value, in the line and below the list."""
    found = listed([state("memory-x", "hardware")], platform=None)
    below = ["".join(words for words, _ in line) for line in proof_lines(found, 100)]
    assert said(found) == ["advisor measure membw: no published value for this platform"]
    assert below[1:] == [
        "What the benchmarks should show",
        "advisor measure membw: bandwidth of the machine and of each NUMA node",
        "  - no published value for this platform",
    ]


def test_benchmarks_of_one_command_are_told_together() -> None:
    """Below the list each command stands once, with the results of all lines that it proves; without figures it is not there."""
    found = listed([asks("numa-nps-x", "numa.nps", "4"), state("memory-x", "hardware"), state("scheduler-x", "scheduler")])
    (membw,) = compared(found)
    assert [each.value for each in membw.expected[:2]] == ["13 % above NPS1", "270 to 300 GB/s"]
    assert len(set(membw.expected)) == len(membw.expected)


def test_what_is_done_needs_no_proof() -> None:
    """The short list keeps only the benchmarks of what is left to do."""
    found = listed([asks("numa-nps-x", "numa.nps", "4"), asks("cpu-smt-x", "cpu.smt", "off", "pass")], {"cpu.smt": "off"})
    assert [each.id for each in found.proofs] == ["cut", "hpl"]
    assert [each.id for each in found.todo().proofs] == ["cut"]
