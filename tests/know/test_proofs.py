from typing import get_args

import pytest

from advisor.advice.judgement import own_rules
from advisor.advice.know.benchmarks import BENCHES, Known, bench_of, expected, of_rules, proofs
from advisor.advice.know.vendors import publications, settings
from advisor.cli.main import commands
from advisor.measure.platform import Benchmark, platform_by_id, platforms


def told(platform: str, bench: str, known: Known | None = None) -> list[tuple[str, str]]:
    """Return what was published of a benchmark for a platform."""
    return [(each.what, each.value) for each in expected(BENCHES[bench], platform_by_id(platform), known or Known())]


def test_every_rule_and_setting_has_its_place() -> None:
    """Each rule of the product, and each setting that a site's rule may ask for, is proved by a benchmark or known not to be."""
    names = [*(rule.id for rule in own_rules().rules), *(name.replace(".", "-") for name in settings())]
    assert [name for name in names if name.partition("-")[0] not in of_rules()] == []


def test_every_line_of_the_table_is_used() -> None:
    """What stands in it is what the id of some rule, or the name of some setting, begins with."""
    names = {rule.id for rule in own_rules().rules} | {name.replace(".", "-").replace("_", "-") for name in settings()}
    assert {start for start in of_rules() if not any(f"{name}-".startswith(f"{start}-") for name in names)} == set()


def test_every_benchmark_is_a_command() -> None:
    """Each names a command that there is, and references of benchmarks that sheets may have."""
    words = [bench.command.split() for bench in BENCHES.values()]
    assert [each for each in words if each[0] != "advisor" or each[1] not in commands()] == []
    wanted = {name for bench in BENCHES.values() for name, _ in bench.wanted}
    assert wanted - set(get_args(Benchmark)) == set()
    assert {name for name in of_rules().values() if name} - set(BENCHES) == set()


@pytest.mark.parametrize(
    ("rules", "setting", "where", "bench"),
    [
        (("numa-nps-below-best",), "numa.nps", "bios", "cut"),
        (("power-xgmi-narrow",), "fabric.xgmi_width", "bios", "distance"),
        (("os-swappiness",), "os.swappiness", "os", None),
        (("site-nps", "numa-nps0"), None, "bios", "cut"),
        (("site-nps",), "numa.nps", "bios", "cut"),
        (("site-line",), None, "scheduler", "placement"),
        (("site-dimm",), None, "hardware", None),
    ],
)
def test_the_longest_beginning_tells(rules: tuple[str, ...], setting: str | None, where: str, bench: str | None) -> None:
    """A rule's id tells before its setting's name, and that before its place; a rule of a site stands beside the product's."""
    assert bench_of(rules, setting, where) == bench


def test_the_article_s_figures() -> None:
    """On EPYC 7001 the steps are held against [000]: triad, far memory, HPL, messages near and far from the adapter."""
    assert told("naples", "bandwidth")[:2] == [
        ("STREAM triad of the machine", "244 GB/s"),
        ("STREAM triad of a NUMA node", "32 GB/s"),
    ]
    assert ("STREAM triad of a NUMA node", "35 % of local memory") in told("naples", "distance")
    assert told("naples", "hpl")[0] == ("HPL of the machine", "1133 GFLOP/s")
    assert [value for what, value in told("naples", "messages") if what.startswith("many")] == ["12.3 GB/s", "3 GB/s", "6.9 GB/s"]
    assert told("naples", "preferred")[0] == ("many pairs between two hosts", "3 GB/s")
    assert told("naples", "latency")[0] == ("MPI latency between two hosts", "1.07 us")


def test_the_gain_of_a_cut_comes_first() -> None:
    """What a cut gains over another is what a step that changes it is held against."""
    assert told("rome", "cut")[:2] == [
        ("STREAM triad of the machine", "13 % above NPS1"),
        ("STREAM triad of the machine", "270 to 300 GB/s"),
    ]


KNOWN = (Known(), Known(cpu="Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz"))


def test_the_machine_s_own_model_comes_before_others() -> None:
    """Of several published results the same processor's is told, even where another's is higher; (R) is no part of a name."""
    whole = [dict(told("skylake", "bandwidth", each))["STREAM triad of the machine"] for each in KNOWN]
    assert whole == ["137 GB/s", "121 GB/s"]


def test_results_of_other_sockets_are_left_out() -> None:
    """One socket is not held against what two of them gave together."""
    assert [what for what, _ in told("naples", "bandwidth", Known(sockets=1)) if what.endswith("the machine")] == []


def test_where_nothing_is_published_nothing_is_told() -> None:
    """A platform without such a result, and an unknown one, have benchmarks without figures."""
    assert (told("grace", "messages"), expected(BENCHES["bandwidth"], None, Known())) == ([], ())
    (made,) = proofs(["bandwidth", "bandwidth"], None, Known())
    assert (made.command, made.figures, made.expected) == ("advisor measure membw", True, ())


@pytest.mark.parametrize("platform", [each.id for each in platforms()])
def test_every_figure_has_its_publication(platform: str) -> None:
    """Whatever is told of a platform names a publication that there is, never an unverified one, and nothing twice."""
    for proof in proofs(BENCHES, platform_by_id(platform), Known()):
        assert [each.ref for each in proof.expected if each.ref not in publications() or each.ref == "unverified"] == []
        assert len(set(proof.expected)) == len(proof.expected) <= 6
