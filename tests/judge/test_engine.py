from typing import Any

import pytest

from advisor.advice.judge.case import Case, Standing
from advisor.advice.judge.engine import ASK_BIOS, foreseen, judge
from advisor.advice.model.findings import Cost
from advisor.machine.machine import Kernel
from tests.judge.made import SETTINGS, found, origins, rule

EACH: dict[str, Any] = {"each": "socket in sockets", "when": "socket.nodes > 2", "say": "{socket.nodes} nodes"}
TWO = [{"index": 0, "nodes": 4}, {"index": 1, "nodes": 1}, {"index": 2}]


def test_one_verdict_for_each_item() -> None:
    """Each item has its verdict, its subject and its claim."""
    verdicts = [(f.verdict, f.subject, f.claim) for f in found(rule(**EACH), sockets=TWO)]
    assert verdicts == [("finding", "socket 0", "4 nodes"), ("pass", "socket 1", None), ("unknown", "socket 2", None)]


def test_no_item_is_not_applicable_and_no_list_unknown() -> None:
    """An empty list has nothing to judge; one that nobody read may have."""
    assert [f.verdict for f in found(rule(**EACH), sockets=[])] == ["not-applicable"]
    assert [(f.verdict, [lack.fact for lack in f.lacks]) for f in found(rule(**EACH))] == [("unknown", ["sockets"])]


def test_an_item_that_may_not_be_there_has_no_verdict_but_unknown() -> None:
    """A list whose items are chosen by an unknown value gives no finding, even where the item is not asked for."""
    made = rule(each="socket in list(x.index for x in sockets if x.nodes > 2)", when='kernel.thp == "always"')
    assert [f.verdict for f in found(made, sockets=TWO, kernel__thp="always")] == ["unknown"]
    loose = rule(each="socket in (x for x in sockets if x.nodes > 2)", when='kernel.thp == "always"')
    verdicts = [f.verdict for f in found(loose, sockets=TWO, kernel__thp="always")]
    assert verdicts == ["finding", "unknown"]


def test_plain_items_are_named_by_their_value() -> None:
    """A list of texts names its subjects by the texts, one of numbers by variable and number."""
    texts = rule(each="part in distinct(cpu.governors)", when='part == "x"')
    numbers = rule(each="size in distinct(s.nodes for s in sockets)", when="size > 2")
    assert [f.subject for f in found(texts, cpu__governors=["x", "y"])] == ["x", "y"]
    assert [f.subject for f in found(numbers, sockets=[{"index": 0, "nodes": 4}])] == ["size 4"]


def test_another_scope_is_not_applicable() -> None:
    """A rule for other work says so."""
    (only,) = found(rule(scope=["hpl"]), "mpi", kernel__thp="always")
    assert (only.verdict, only.claim) == ("not-applicable", "matters for hpl, not for mpi")


def test_only_comes_before_when() -> None:
    """Where the condition is false the rule does not apply; where it is not known nothing is."""
    made = rule(only='environment.virtual == "none"')
    assert [f.verdict for f in found(made, environment__virtual="kvm", kernel__thp="always")] == ["not-applicable"]
    assert [f.verdict for f in found(made, kernel__thp="always")] == ["unknown"]


def test_trouble_is_an_error_and_stops_nothing() -> None:
    """A division by zero is the verdict error, with the expression."""
    (only,) = found(rule(when="1 / kernel.numa_balancing > 2"), kernel__numa_balancing=0)
    assert (only.verdict, only.claim) == ("error", "division by zero in 1 / kernel.numa_balancing")


def test_trouble_in_the_list_of_items_is_an_error() -> None:
    """A list that cannot be made has one verdict, with the expression; the rule is not passed over."""
    made = rule(each="socket in (s for s in sockets if 1 / s.index > 2)", when="socket.nodes > 2")
    assert [(each.verdict, each.claim) for each in found(made, sockets=TWO)] == [("error", "division by zero in 1 / s.index")]


def test_trouble_in_what_need_not_be_said_is_no_error() -> None:
    """A finding stays one when its evidence, cost or check cannot be computed."""
    made = rule(
        when="kernel.swappiness > 1 or any(x.nodes > 1 for x in sockets if 1 / kernel.numa_balancing > 0)",
        cost={"gain": "1 / kernel.numa_balancing", "of": "HPL", "basis": "computed"},
        check="look at {1 / kernel.numa_balancing}",
    )
    (only,) = found(made, kernel__swappiness=9, kernel__numa_balancing=0, sockets=TWO)
    assert (only.verdict, only.cost and only.cost.gain) == ("finding", None)
    assert only.check == "(division by zero in 1 / kernel.numa_balancing)"


def test_a_finding_shows_its_evidence() -> None:
    """Facts with values and where they were read; of what was made of records and boot options, what was made."""
    made = rule(
        let={"most": "2", "twice": "most * kernel.numa_balancing"},
        when='any(s.nodes > twice for s in sockets) and option(kernel.cmdline, "x") == [] and count(sockets) > 1',
    )
    facts: dict[str, Any] = {"sockets": TWO[:2], "kernel__cmdline": "quiet", "kernel__numa_balancing": 1}
    evidence = {e.fact: (e.value, e.where) for e in found(made, **facts)[0].evidence}
    assert evidence == {
        "s.nodes": ("4, 1", "/sys"),
        "twice": ("2", None),
        'option(kernel.cmdline, "x")': ("none", None),
        "count(sockets)": ("2", "/sys"),
        "most": ("2", None),
        "kernel.numa_balancing": ("1", None),
    }


def test_an_unknown_says_what_would_help() -> None:
    """Each fact that is lacking has the collector's own help, the BIOS's, or the usual; behind a named value stand its facts."""
    made = rule(
        let={"rate": "count(memory.dimms)"},
        when="rate > 1 and setting.numa.nps == 1 and setting.os.memlock > 1 and cpu.epp == []",
    )
    lacks = {lack.fact: (lack.why, lack.help) for lack in found(made)[0].lacks}
    assert lacks == {
        "memory.dimms": ("permission denied", "run as root"),
        "setting.numa.nps": ("not reported by the operating system", ASK_BIOS),
        "setting.os.memlock": ("not in this input", "run advisor on the machine itself, or check by hand: ulimit -l"),
        "cpu.epp": ("not in this input", "run advisor on the machine itself, as root: sudo advisor audit"),
    }


def test_wants_are_neutral_words() -> None:
    """A whole number has no point and all its digits; an unknown value is left open."""
    made = rule(set={"os.memlock": "kernel.min_free / 2", "cpu.boost": "on", "numa.nps": "4 if kernel.irqbalance else 1"})
    wants = {want.setting: want.value for want in found(made, kernel__thp="always", kernel__min_free=246913578)[0].wants}
    assert wants == {"os.memlock": "123456789", "cpu.boost": "on", "numa.nps": None}


def test_a_case_is_judged_by_every_rule() -> None:
    """The facts of a Case, and of its standings, reach the rules."""
    case = Case(kernel=Kernel(thp="always"))
    verdicts = [f.verdict for f in judge(case, [rule(), rule(when="setting.numa.nps == 1")], SETTINGS, origins(case))]
    assert verdicts == ["finding", "unknown"]


@pytest.mark.parametrize("name", ["\x1b[2Jx", "mlx5_0"])
def test_subjects_steer_no_terminal(name: str) -> None:
    """What a device calls itself is plain text before it is a subject."""
    (only,) = found(rule(each="adapter in adapters"), adapters=[{"name": name}], kernel__thp="always")
    assert only.subject == name.replace("\x1b", "?")


COST = {"gain": "0.13", "of": "triad", "basis": "published", "ref": "dell-rome-2019", "measured": "measured.nps_gain"}


def test_a_cost_is_published_until_it_is_measured() -> None:
    """What was measured here stands in place of what others found elsewhere, and of what it is a part."""
    made, own = rule(cost=COST), rule(cost={**COST, "measured_of": "our triad"})
    (told,), (ours,) = (found(made, kernel__thp="always"), found(own, kernel__thp="always", measured__nps_gain=0.07))
    assert told.cost == Cost(gain=0.13, of="triad", basis="published", ref="dell-rome-2019")
    assert ours.cost == Cost(gain=0.07, of="our triad", basis="measured")


def test_a_rule_may_be_about_measurements_alone() -> None:
    """Its cost is measured where it can be told, and some where not."""
    made = rule(cost={"gain": "measured.nps_gain", "of": "triad", "basis": "measured"})
    told = (found(made, kernel__thp="always", measured__nps_gain=0.07), found(made, kernel__thp="always"))
    assert [each[0].cost for each in told] == [
        Cost(gain=0.07, of="triad", basis="measured"),
        Cost(gain=None, of="triad", basis="measured"),
    ]


def boosted(value: str) -> Case:
    """Return a machine of which the BIOS alone is known."""
    return Case(standings=(Standing(name="cpu.boost", title="boost", value=value),))


def test_a_change_brings_what_a_rule_of_weight_finds_after_it() -> None:
    """A rule that reads the setting finds it; a matter of choice, or what reads nothing that changes, brings nothing."""
    reads = rule(when='setting.cpu.boost == "off"')
    taste = rule(id="taste", severity="info", when='setting.cpu.boost == "off"')
    other = rule(id="other")
    brought = [
        (each.rule.id, each.verdict)
        for each in foreseen([reads, taste, other], boosted("on"), boosted("off"), SETTINGS, origins())
    ]
    assert brought == [("made-rule", "finding")]


@pytest.mark.parametrize(
    ("foresee", "verdict"),
    [
        ('setting.cpu.boost == "off"', ["finding"]),
        ('shape.cpus > 255 and setting.cpu.boost == "off"', ["unknown"]),
        ('setting.cpu.boost == "on"', []),
    ],
)
def test_what_shows_after_the_restart_only_is_foreseen(foresee: str, verdict: list[str]) -> None:
    """A rule that passes now says what a change would bring, and of what nobody can say that it is not known."""
    made = rule(foresee=foresee)
    assert [each.verdict for each in foreseen([made], boosted("on"), boosted("off"), SETTINGS, origins())] == verdict
