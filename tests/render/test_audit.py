import re
from io import StringIO

import pytest
from rich.console import Console

from advisor.advice.audit_page.card import Asker, Shown
from advisor.advice.audit_page.screen import HEIGHT, audit_page, whole_audit_page
from advisor.advice.model.findings import Audit, Evidence, Fix, Lack, Row, Want
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import Layout
from advisor.machine.machine import NOT_OFFERED, Gap, Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.sources.registers import LOAD_MSR
from advisor.measure.measured_facts import Compared, MeasuredFacts, Speed
from tests.conftest import Golden
from tests.machines.read import machine
from tests.printing import printed
from tests.render import audits, made

STEPS = (
    (("advisor", "explain", "numa-nps-below-best"), "why: every value, and where it was read"),
    (("advisor", "topology"), "a drawing"),
)


def screen(audit: Audit, *, width: int = 100, asker: Asker = Asker()) -> str:  # noqa: B008 - a frozen value
    """Return the one screen of an audit, without colours."""
    return printed(audit_page(Shown(audit, made.rome(), made.layout(), None, asker)), width, crop=True)


def whole(audit: Audit, width: int = 100) -> str:
    """Return everything of an audit, without colours."""
    page = whole_audit_page(Shown(audit, made.rome(), made.layout(), None, Asker()), audits.PUBLICATIONS, steps=STEPS)
    return printed(page, width)


@pytest.mark.parametrize("width", [80, 120])
def test_one_screen(width: int, golden: Golden) -> None:
    """An audit with everything in it is as it was accepted, on a narrow and on a wide terminal."""
    golden(f"audit-{width}.txt", screen(audits.audit(), width=width))


def test_everything(golden: Golden) -> None:
    """The whole of an audit is as it was accepted."""
    golden("audit-verbose.txt", whole(audits.audit()))


@pytest.mark.parametrize("name", ["a-r7425-2x7601-dell-portdown", "b-c6525-2x7702-nps1", "d-delftblue-2x6248r-snc2"])
def test_generated_machines(name: str, golden: Golden, seen_machine: dict[str, tuple[Machine, Layout]]) -> None:
    """The audit of three generated machines is as it was accepted, whatever the rules say of them."""
    one, layout = seen_machine[name]
    file = StringIO()
    Console(file=file, width=100, color_system=None).print(audit_page(Shown(audits.audit(), one, layout, None, Asker())))
    golden(f"audit-{name}.txt", file.getvalue())


@pytest.fixture(scope="module")
def seen_machine() -> dict[str, tuple[Machine, Layout]]:
    """Return the three machines as they are read."""
    names = ("a-r7425-2x7601-dell-portdown", "b-c6525-2x7702-nps1", "d-delftblue-2x6248r-snc2")
    return {name: (machine(name), infer_layout(machine(name))) for name in names}


@pytest.mark.parametrize("width", [80, 100, 160, 250])
def test_it_is_one_screen(width: int) -> None:
    """An audit with everything in it takes at most the 24 lines of a terminal as it opens."""
    assert len(screen(audits.audit(), width=width).splitlines()) <= HEIGHT


def test_the_costliest_comes_first() -> None:
    """Fixes stand by severity, then by what is to be won, and are numbered; what is worth knowing goes on counting."""
    text = " ".join(screen(audits.audit(), width=120).split())
    names = (
        "1 HIGH mlx5_0 runs",
        "2 HIGH sockets are cut" if "2 HIGH sockets" in text else "2 HIGH",
        "3 MEDIUM",
        "4 LOW",
        "(5) thing 0",
    )
    assert (sorted(names, key=text.index), [name for name in names if name not in text]) == (list(names), [])


def test_the_first_line_below_the_machine_says_what_to_fix() -> None:
    """How many things there are to fix, the first of them, and whether it takes a restart."""
    lines = screen(audits.audit(), width=120).splitlines()
    assert lines[lines.index("") + 1].startswith("FIX 4 THINGS  ")


def test_subjects_of_one_rule_are_one_fix() -> None:
    """Two sockets that want the same step are one thing to fix, which names both."""
    assert "offers NPS4; the same for socket 1" in screen(audits.audit(), width=140)


def test_one_rule_does_not_flood() -> None:
    """A rule with other steps for each of many subjects has one number and names the others."""
    assert screen(audits.audit(), width=160).count(" LOW ") == 1


def test_a_cost_names_its_source() -> None:
    """A cost is a part of something, with who says so."""
    assert "13 % of STREAM triad against NPS1, published [dell-rome-2019]" in screen(audits.audit(), width=200)


def test_a_setting_is_told_with_its_value_now_and_wanted() -> None:
    """What to fix and what to consider say from what to what."""
    known = audits.finding("os-x", "info", wants=(Want(setting="os.swappiness", value="10"),))
    row = Row(
        name="os.swappiness",
        term="vm.swappiness",
        title="tendency to swap",
        where="os",
        current="60",
        wanted="10",
        rules=("os-x",),
        met=False,
    )
    text = screen(Audit(scope="mpi", findings=(known,), settings=(row,)))
    assert "CONSIDER  (1) vm.swappiness 60 -> 10\n" in text


def test_what_the_next_boot_brings_is_said() -> None:
    """A setting that the BIOS holds for the next boot stands there with both values."""
    assert "PENDING   SMT on -> off at the next boot" in screen(audits.audit(), width=120)


def test_unknown_bios_settings_take_one_item() -> None:
    """However many settings only the BIOS knows, checks count, and one command shows them."""
    lacks = tuple(
        Lack(
            fact=f"setting.cpu.x{at}",
            why="Linux does not show it",
            help="give the BIOS attributes: advisor audit --bios FILE (a)",
        )
        for at in range(40)
    )
    audit = Audit(scope="mpi", findings=(audits.finding("cpu-y", "low", "unknown", lacks=lacks),), settings=())
    assert "NOT CHECKED  1 check: add --bmc HOST or --bios FILE (1)\n" in screen(audit)


def test_waived_and_broken_are_shown() -> None:
    """A waived finding stands there with its reason, a broken rule with its mistake."""
    text = screen(audits.audit())
    assert [word for word in ("login node (until 2030-01-01)", "BROKEN    cpu-odd: division by zero") if word not in text] == []


def test_the_numbers_of_the_last_line_add_up() -> None:
    """Every rule is counted once, by the worst of its verdicts."""
    line = re.sub(r"\s+", " ", screen(audits.audit(), width=200)).partition("CHECKS ")[2].partition("MORE")[0]
    total, *parts = (int(number) for number in re.findall(r"\d+", line))
    assert (total, sum(parts)) == (len({finding.id for finding in audits.audit().findings}),) * 2


def test_nothing_found_is_said_with_what_was_asked() -> None:
    """A machine without findings gets a good word that says how much was answered, and never that all is well."""
    sound = tuple(audits.finding(f"os-{at}", "low", "pass") for at in range(9))
    audit = Audit(scope="mpi", findings=(*sound, audits.finding("x-y", "low", "unknown")), settings=())
    assert "NOTHING TO FIX  9 checks answered for mpi, 1 needs more facts\nCHECKED   9 passed: os 9\n" in screen(audit)


def test_where_little_is_known_that_stands_first() -> None:
    """An audit that could answer few of its rules does not say that nothing is to be fixed."""
    unknown = tuple(audits.finding(f"x-{at}", "low", "unknown") for at in range(9))
    audit = Audit(scope="mpi", findings=(*unknown, audits.finding("os-a", "low", "pass")), settings=())
    text = screen(audit)
    assert ("LIMITED DATA  1 of 10 checks gave a result for this machine" in text, "NOTHING TO FIX" in text) == (True, False)


def test_what_was_not_seen_adds_up_to_what_needs_more_facts() -> None:
    """A check that waits for several commands counts once, where most wait; what nobody can know is among the others."""
    lacks = [("advisor c",), ("advisor c", "advisor d"), ("advisor d",), (NOT_OFFERED,), ()]
    made = tuple(
        audits.finding(f"x-{at}", "low", "unknown", lacks=tuple({"fact": "a", "why": "b", "help": each} for each in helps))
        for at, helps in enumerate(lacks)
    )
    text = screen(Audit(scope="mpi", findings=made, settings=()))
    assert "NOT CHECKED  5 checks: advisor c (2) · advisor d (1) · other ways, see -v (2)\n" in text
    assert "5 need more facts" in text


def test_everything_asks_nobody_for_what_they_did_already() -> None:
    """In -v too root is not sent to sudo, and who gave the BIOS not to --bios."""
    lacks = tuple(
        audits.finding(f"x-{at}", "low", "unknown", lacks=({"fact": f"f{at}", "why": "w", "help": each},))
        for at, each in enumerate((AS_ROOT, BIOS))
    )
    audit = Audit(scope="mpi", findings=lacks, settings=())
    asker = Asker(bios=True, root=True)
    text = printed(whole_audit_page(Shown(audit, made.rome(), made.layout(), None, asker), {}), 200)
    assert ("f0: w -> not readable here, even as root" in text, "f1: w -> not in the BIOS attributes given" in text) == (
        True,
        True,
    )


def test_most_waited_for_comes_first() -> None:
    """What would settle most rules stands first among what could not be seen, with how many wait."""
    lacks = tuple(
        audits.finding(f"x-{at}", "low", "unknown", lacks=({"fact": "a", "why": "b", "help": f"advisor {'c' if at else 'd'}"},))
        for at in range(3)
    )
    text = screen(Audit(scope="mpi", findings=lacks, settings=(), unseen=(Gap(fact="d", why="e", help="ask f"),)))
    assert "NOT CHECKED  3 checks: advisor c (2) · advisor d (1)\n" in text


def test_what_to_consider_counts_its_subjects() -> None:
    """One line stands for four cards: it names the first, and says how many more there are."""
    claim = "card: no adapter"
    cards = tuple(audits.finding("io-far", "info", claim=claim, title="Far", subject=f"gpu{at}") for at in range(4))
    assert "CONSIDER  (1) Far (gpu0), 3 more like this\n" in screen(Audit(scope="mpi", findings=cards, settings=()))


def remedy(asker: Asker, cure: str) -> str:
    """Return what the screen of an asker says of checks that one cure would answer."""
    lack = {"fact": "some.fact", "why": "it is not known", "help": cure}
    lacks = tuple(audits.finding(f"some-{at}", "low", "unknown", lacks=(lack,)) for at in range(14))
    text = screen(Audit(scope="mpi", findings=lacks, settings=()), asker=asker, width=200)
    return text.partition("NOT CHECKED  14 checks: ")[2].partition("\n")[0]


MEASURED, MESSAGES = "advisor measure --quick, about 40 s", "advisor measure network --hosts A,B"
AS_ROOT = "run as root: sudo advisor audit, or sudo advisor capture"
CAPTURED = "take a capture on the machine itself: advisor capture"
BIOS = "give the BIOS attributes: advisor audit --bios FILE (a Redfish Bios resource)"
ELSEWHERE = Asker(("--from", "node.tar.gz"))
REMEDIES = {
    "live": (Asker(), MEASURED, "advisor measure --quick (14)"),
    "from a capture": (ELSEWHERE, MEASURED, "on that machine run advisor measure --quick (14)"),
    "from a capture, more to read": (ELSEWHERE, CAPTURED, "on that machine run sudo advisor capture (14)"),
    "from a capture, as root": (ELSEWHERE._replace(root=True), AS_ROOT, "on that machine run sudo advisor capture (14)"),
    "live, not root": (Asker(), AS_ROOT, "sudo advisor audit (14)"),
    "live, root already": (Asker(root=True), AS_ROOT, "other ways, see -v (14)"),
    "no BIOS given": (Asker(), BIOS, "add --bmc HOST or --bios FILE (14)"),
    "a BIOS given": (Asker(bios=True), BIOS, "not in the BIOS attributes given (14)"),
    "in no job": (Asker(), MESSAGES, "advisor measure network --hosts A,B (14)"),
    "in a job of three": (Asker(hosts=("n1", "n2", "n3")), MESSAGES, "advisor measure network --hosts n1,n2 (14)"),
    "in a job of one": (Asker(hosts=("n1",)), MESSAGES, "advisor measure network --hosts A,B (14)"),
    "no module": (Asker(), LOAD_MSR, "sudo modprobe msr (14)"),
    "no module, root already": (Asker(root=True), LOAD_MSR, "modprobe msr (14)"),
    "no module there": (ELSEWHERE, LOAD_MSR, "on that machine run sudo modprobe msr (14)"),
    "no command": (Asker(), "see the data sheet", "other ways, see -v (14)"),
    "no sheet": (Asker(), "add it to rules/platforms", "no data for this processor (14)"),
}


@pytest.mark.parametrize("case", REMEDIES)
def test_a_remedy_knows_who_asks(case: str) -> None:
    """Root is sent to no sudo, a capture to its machine, a job to its own hosts, who gave the BIOS not to it again."""
    asker, cure, wanted = REMEDIES[case]
    assert remedy(asker, cure) == wanted


def test_figures_stand_beside_what_was_published() -> None:
    """After measuring the screen shows the machine's own figures, and how they stand."""
    triad = Compared(
        name="stream-triad of the machine", value=152e9, low=270e9, high=300e9, conditions="Rome", ref="dell-rome-2019"
    )
    measured = MeasuredFacts(
        when="2026-11-21 14:05", idle=True, results=3, published=(triad,), machine=Speed(index=0, cpus=CpuSet([0]), triad=152e9)
    )
    file = StringIO()
    page = audit_page(Shown(audits.audit(), made.rome(), made.layout(), measured, Asker()))
    Console(file=file, width=120, color_system=None).print(page)
    assert "MEASURED  triad 152 GB/s, 56 % of the 270-300 GB/s published [dell-rome-2019]" in file.getvalue()


def test_hostile_names_steer_nothing() -> None:
    """A claim, an evidence or a step with control characters or markup is plain text."""
    bad = "\x1b[31mred[/red]\r\n"
    one = audits.finding(
        "x-bad", "high", claim=bad, subject=bad, fix=(Fix(text=bad, where="os", commands=(bad,)),),
        evidence=(Evidence(fact="a", value=bad, where=bad),),
    )  # fmt: skip
    audit = Audit(scope="mpi", findings=(one,), settings=())
    assert [text for text in (screen(audit), whole(audit)) if "\x1b" in text or "\r" in text or "red[/red]" not in text] == []


@pytest.mark.parametrize("width", [40, 57, 80])
def test_narrow(width: int) -> None:
    """No line is wider than the terminal, be it narrow, and none ends in blanks."""
    lines = screen(audits.audit(), width=width).splitlines()
    assert [line for line in lines if len(line) > width or line != line.rstrip()] == []


def test_commands_can_be_copied() -> None:
    """A command in the whole audit is one line of a shell, however narrow the terminal is."""
    text = whole(audits.audit(), width=50).replace("\\\n", " ")
    assert "racadm set BIOS.ProcSettings.NumaNodesPerSocket 4\n" in re.sub(" +", " ", text)
