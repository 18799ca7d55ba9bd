from io import StringIO

import pytest
from rich.console import Console

from advisor.model.audit.findings import Audit, Evidence, Fix, Row
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Gap, Machine
from advisor.render.audit.page import audit_page, whole_audit_page
from tests.conftest import Golden
from tests.render import audits, made

STEPS = (
    (("advisor", "explain", "numa-nps-below-best"), "why: every value, and where it was read"),
    (("advisor", "topology"), "a drawing"),
)


def printed(audit: Audit, *, width: int = 100) -> str:
    """Return the one screen of an audit, without colours."""
    file = StringIO()
    page = audit_page(audit, made.rome(), made.layout(), steps=STEPS)
    Console(file=file, width=width, color_system=None).print(page)
    return file.getvalue()


def whole(audit: Audit, width: int = 100) -> str:
    """Return everything of an audit, without colours."""
    file = StringIO()
    page = whole_audit_page(audit, made.rome(), made.layout(), audits.PUBLICATIONS, steps=STEPS)
    Console(file=file, width=width, color_system=None).print(page, crop=False)
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_one_screen(width: int, golden: Golden) -> None:
    """An audit with everything in it is as it was accepted, on a narrow and on a wide terminal."""
    golden(f"audit-{width}.txt", printed(audits.audit(), width=width))


def test_everything(golden: Golden) -> None:
    """The whole of an audit is as it was accepted."""
    golden("audit-verbose.txt", whole(audits.audit()))


@pytest.mark.parametrize("name", ["a-r7425-2x7601-dell-portdown", "b-c6525-2x7702-nps1", "d-delftblue-2x6248r-snc2"])
def test_generated_machines(name: str, golden: Golden, seen_machine: dict[str, tuple[Machine, Layout]]) -> None:
    """The audit of three generated machines is as it was accepted, whatever the rules say of them."""
    machine, layout = seen_machine[name]
    file = StringIO()
    Console(file=file, width=100, color_system=None).print(audit_page(audits.audit(), machine, layout, steps=STEPS))
    golden(f"audit-{name}.txt", file.getvalue())


@pytest.fixture(scope="module")
def seen_machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Machine, Layout]]:
    """Return the three machines as they are read from their archives."""
    from advisor.model.hardware.partitioning import infer_layout
    from advisor.work.machine import load
    from tests.machines.catalogue import write_archive

    result = {}
    for name in ("a-r7425-2x7601-dell-portdown", "b-c6525-2x7702-nps1", "d-delftblue-2x6248r-snc2"):
        file = tmp_path_factory.mktemp("machines") / f"{name}.tar.gz"
        write_archive(name, file)
        machine = load(str(file))
        result[name] = (machine, infer_layout(machine))
    return result


def test_it_is_one_screen() -> None:
    """An audit with everything in it takes at most 50 lines of 100 columns."""
    assert len(printed(audits.audit()).splitlines()) <= 50


def test_the_costliest_comes_first() -> None:
    """Findings stand by severity, then by what is to be won."""
    text = printed(audits.audit())
    names = ("fabric-link-narrow: mlx5", "numa-nps-below-best: socket", "os-numa-balancing-on: auto", "os-known-0: thing")
    assert sorted(names, key=text.index) == list(names)


def test_subjects_with_the_same_steps_are_one() -> None:
    """Two sockets that want the same step are one finding that names both."""
    assert printed(audits.audit()).count("numa-nps-below-best: socket") == 1
    assert "offers NPS4; so is socket 1" in printed(audits.audit(), width=140)


def test_one_rule_does_not_flood() -> None:
    """Of a rule with other steps for each of many subjects the first stand there, the others are counted."""
    text = printed(audits.audit())
    assert (text.count("LOW     pci-requests-small"), "2 more low: pci-requests-small (-v" in text) == (2, True)


def test_a_cost_names_its_source() -> None:
    """A cost is a part of something, with who says so."""
    assert "costs 13 % of STREAM triad against NPS1, published [dell-rome-2019]" in printed(audits.audit(), width=200)


def test_evidence_was_read_somewhere() -> None:
    """Beside the claim stands a fact of the machine with its value and where it was read."""
    text = " ".join(printed(audits.audit()).split())
    assert "(kernel.numa_balancing = 1, /proc/sys/kernel/numa_balancing)" in text


def test_a_difference_without_a_finding_is_no_alarm() -> None:
    """A setting that is not as wanted, where no rule found harm, is not marked as differing."""
    row = Row(name="os.thp", title="hugepages", where="os", current="always", wanted="never", rules=("os-swap",), met=False)
    text = printed(audits.audit().model_copy(update={"settings": (row,)}))
    assert ("1 that differ without a finding" in text, "!" in text) == (True, False)


def test_a_matter_of_taste_is_no_alarm() -> None:
    """A setting with which only a finding to know disagrees is shown and not marked as harmful."""
    row = Row(name="os.thp", title="hugepages", where="os", current="always", wanted="never", rules=("os-known-1",), met=False)
    assert "~ hugepages always  never" in printed(audits.audit().model_copy(update={"settings": (row,)}))


def test_evidence_is_what_the_claim_is_about() -> None:
    """Of several facts the one whose value the claim names stands beside it."""
    facts = (("a.name", "NPS1"), ("a.others", "none"), ("a.number", "7"))
    evidence = tuple(Evidence(fact=fact, value=value, where="/sys/x") for fact, value in facts)
    one = audits.finding("x-y", "high", claim="it is cut NPS1; " + "and so on " * 20, evidence=evidence)
    text = " ".join(printed(Audit(scope="mpi", findings=(one,), settings=()), width=80).split())
    assert "(a.name = NPS1, /sys/x" in text


def test_unknown_bios_settings_take_one_line() -> None:
    """However many settings only the BIOS knows, they are one line that says how to see them."""
    rows = tuple(Row(name=f"cpu.x{at}", title=f"x{at}", where="bios") for at in range(40))
    text = printed(audits.audit().model_copy(update={"settings": rows}))
    assert (text.count("BIOS settings"), "40 BIOS settings that Linux does not show: --bios FILE" in text) == (1, True)


def test_waived_and_broken_are_shown() -> None:
    """A waived finding stands there with its reason, a broken rule with its mistake."""
    text = printed(audits.audit())
    assert [word for word in ("login node (until 2030-01-01)", "ERROR   cpu-odd: division by zero") if word not in text] == []


def test_nothing_found_is_said() -> None:
    """An audit without findings says so, and how many verdicts are unknown."""
    audit = audits.audit()
    text = printed(audit.model_copy(update={"findings": audit.others}))
    assert [word for word in ("none: nothing known", "0 findings", "2 unknown") if word not in text] == []


def test_most_waited_for_comes_first() -> None:
    """What would settle most rules stands first among what could not be seen, with how many wait."""
    lacks = tuple(
        audits.finding(f"x-{at}", "low", "unknown", lacks=({"fact": "a", "why": "b", "help": "ask c"},)) for at in range(3)
    )
    text = printed(Audit(scope="mpi", findings=lacks, settings=(), unseen=(Gap(fact="d", why="e", help="ask f"),)))
    assert text.index("ask c [3 rules wait]") < text.index("ask f")


def test_nothing_measured_takes_one_line() -> None:
    """However many rules wait for measurements, they are one line that says how to get them."""
    lack = {"fact": "measured", "why": "nothing was measured", "help": "advisor measure --quick, about 40 s"}
    lacks = tuple(audits.finding(f"measured-{at}", "low", "unknown", lacks=(lack,)) for at in range(14))
    text = printed(Audit(scope="mpi", findings=lacks, settings=()))
    assert "- nothing was measured -> advisor measure --quick, about 40 s [14 rules wait]\n" in text


def test_hostile_names_steer_nothing() -> None:
    """A claim, an evidence or a step with control characters or markup is plain text."""
    bad = "\x1b[31mred[/red]\r\n"
    one = audits.finding(
        "x-bad", "high", claim=bad, subject=bad, fix=(Fix(text=bad, where="os", commands=(bad,)),),
        evidence=(Evidence(fact="a", value=bad, where=bad),),
    )  # fmt: skip
    audit = Audit(scope="mpi", findings=(one,), settings=())
    assert [text for text in (printed(audit), whole(audit)) if "\x1b" in text or "\r" in text or "red[/red]" not in text] == []


@pytest.mark.parametrize("width", [40, 57, 80])
def test_narrow(width: int) -> None:
    """No line is wider than the terminal, be it narrow, and none ends in blanks."""
    lines = printed(audits.audit(), width=width).splitlines()
    assert [line for line in lines if len(line) > width or line != line.rstrip()] == []


def test_commands_are_not_broken() -> None:
    """A command in the whole audit stands on one line, to be copied, however narrow the terminal is."""
    assert "$ racadm set BIOS.ProcSettings.NumaNodesPerSocket 4\n" in whole(audits.audit(), width=50)
