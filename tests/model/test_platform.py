from typing import Any

import pytest
from pydantic import ValidationError

from advisor.machine.hardware import Hca, Port, fabric_of
from advisor.machine.platform_traits import maker_of
from advisor.measure.platform import CutOffer, Platform, best_cut, dies, for_model, offered


def platform(**changes: Any) -> Platform:
    """Return an EPYC-like platform: two L3 groups a die, NPS by dies, 1 or 2 sockets."""
    base: dict[str, Any] = {
        "id": "rome",
        "name": "EPYC 7002 (Rome)",
        "vendor": "AMD",
        "architecture": "Zen 2",
        "family": "epyc",
        "generation": 2,
        "series": "EPYC 7",
        "match": {"vendor": "AuthenticAMD", "family": 23, "models": ["48-63"]},
        "scheme": "NPS",
        "l3_per_die": 2,
        "sources": {"l3_per_die": "x"},
        "cuts": [
            {"name": "NPS0", "nodes": 1, "per": "system", "called": "0", "sockets": 2, "source": "x"},
            {"name": "NPS1", "nodes": 1, "called": "1", "source": "x"},
            {"name": "NPS2", "nodes": 2, "called": "2", "dies_multiple_of": 2, "source": "x"},
            {"name": "NPS4", "nodes": 4, "called": "4", "dies_multiple_of": 4, "source": "x"},
        ],
        "best": [{"scopes": ["mpi"], "cut": "NPS4", "source": "x"}, {"scopes": ["mpi", "latency"], "cut": "NPS1", "source": "y"}],
    }
    return Platform.model_validate(base | changes)


def intel(**condition: Any) -> Platform:
    """Return a Xeon-like platform whose SNC4 is offered on a condition."""
    cuts = [
        {"name": "none", "nodes": 1, "called": "off", "source": "x"},
        {"name": "SNC4", "nodes": 4, "called": "on", "source": "x", **condition},
    ]
    best = [{"scopes": ["mpi"], "cut": "SNC4", "source": "x"}]
    return platform(scheme="SNC", l3_per_die=None, sources={}, cuts=cuts, best=best)


def names(cuts: tuple[CutOffer, ...]) -> list[str]:
    """Return the names of cuts."""
    return [cut.name for cut in cuts]


@pytest.mark.parametrize(("l3", "expected"), [(16, 8), (8, 4), (2, 1), (3, None), (0, None), (None, None)])
def test_dies_follow_from_the_l3_groups(l3: int | None, expected: int | None) -> None:
    """Half as many dies as L3 groups, and none where that does not divide."""
    assert expected == dies(platform(), l3)


def test_dies_are_not_known_where_the_l3_is_not_cut_by_dies() -> None:
    """A Xeon's L3 says nothing of its tiles."""
    assert dies(intel(), 1) is None


@pytest.mark.parametrize(
    ("dies_of_socket", "sockets", "expected"),
    [
        (8, 2, ["NPS0", "NPS1", "NPS2", "NPS4"]),
        (8, 1, ["NPS1", "NPS2", "NPS4"]),
        (6, 2, ["NPS0", "NPS1", "NPS2"]),
        (3, 1, ["NPS1"]),
        (None, None, ["NPS1"]),
    ],
)
def test_only_cuts_that_are_certain_are_offered(dies_of_socket: int | None, sockets: int | None, expected: list[str]) -> None:
    """NPS2 wants an even number of dies, NPS4 a multiple of four, NPS0 two sockets."""
    assert expected == names(offered(platform(), dies_of_socket, sockets))


@pytest.mark.parametrize(
    ("condition", "cores", "expected"),
    [
        ({}, None, ["none", "SNC4"]),
        ({"offered": "unknown"}, 60, ["none"]),
        ({"min_cores": 33}, 33, ["none", "SNC4"]),
        ({"min_cores": 33}, 32, ["none"]),
        ({"min_cores": 33}, None, ["none"]),
        ({"only": "69..P"}, 128, ["none"]),
    ],
)
def test_an_offer_that_rests_on_what_is_not_known_is_not_certain(
    condition: dict[str, Any], cores: int | None, expected: list[str]
) -> None:
    """Neither an unpublished condition, nor too few cores, nor a name that was not looked at."""
    assert expected == names(offered(intel(**condition), None, 2, cores))


@pytest.mark.parametrize(
    ("dies_of_socket", "expected"),
    [(8, "NPS4"), (6, "NPS2"), (3, "NPS1")],
)
def test_the_best_cut_is_the_highest_offered_up_to_the_one_advised(dies_of_socket: int, expected: str) -> None:
    """The first guide for the work counts."""
    found = best_cut(platform(), "mpi", dies_of_socket, 2)
    assert found is not None
    assert expected == found.name


def test_the_best_cut_is_not_known_without_the_fact_that_decides_it() -> None:
    """Six dies or eight: the answer differs, so neither is given."""
    assert best_cut(platform(), "mpi", None, 2) is None
    assert best_cut(intel(min_cores=33), "mpi", None, 2, None) is None


def test_the_best_cut_falls_back_where_nobody_knows_who_offers_more() -> None:
    """A Xeon of 32 cores may or may not offer SNC4."""
    found = best_cut(intel(min_cores=33), "mpi", None, 2, 32)
    assert found is not None
    assert found.name == "none"


def test_no_guide_no_best_cut() -> None:
    """Nothing is advised for work that no guide speaks of."""
    assert best_cut(platform(), "virtualisation", 8, 2) is None


def test_a_cut_advised_that_is_not_above_others_needs_no_dies() -> None:
    """NPS1 is always offered."""
    found = best_cut(platform(), "latency", None, None)
    assert found is not None
    assert found.name == "NPS1"


VARIANTS = [
    {"name": "69..P", "why": "three dies", "channels": 12, "source": "x"},
    {"name": "67..P", "why": "two dies", "channels": 8, "source": "x"},
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Intel(R) Xeon(R) 6980P", 12), ("Intel(R) Xeon(R) 6787P", 8), ("Intel(R) Xeon(R) 6", None), (None, None)],
)
def test_figures_that_differ_by_model_follow_the_name(name: str | None, expected: int | None) -> None:
    """A name that is not known, or of no variant, leaves what the sheet says of all."""
    varied = platform(variants=VARIANTS, sources={"l3_per_die": "x", "channels": "x"})
    assert expected == for_model(varied, name).channels


def test_a_figure_that_most_models_share_is_not_known_without_a_name() -> None:
    """One AVX-512 unit or two: only the name tells."""
    variant = {"name": "Silver", "why": "one unit", "flops_per_cycle": 16, "source": "x"}
    varied = platform(flops_per_cycle=32, variants=[variant], sources={"l3_per_die": "x", "flops_per_cycle": "x"})
    assert [for_model(varied, name).flops_per_cycle for name in ("Silver 4116", "Gold 6148", None)] == [16, 32, None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Xeon 6980P", ["none", "SNC4"]), ("Xeon 6787P", ["none"]), (None, ["none"])],
)
def test_cuts_of_some_models_are_offered_to_them_alone(name: str | None, expected: list[str]) -> None:
    """Another model loses the cut and its advice; without a name it is not certain."""
    assert expected == names(offered(for_model(intel(only="69..P"), name), None, 2))


def test_advice_goes_with_the_cut_it_wants() -> None:
    """What a model does not offer is not advised."""
    assert for_model(intel(only="69..P"), "Xeon 6787P").best == ()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"scheme": "NSP"}, "NSP is not a NUMA partitioning scheme; did you mean NPS"),
        ({"match": {"vendor": "x", "models": ["a-b"]}}, "a-b is neither a number nor a range"),
        ({"match": {"vendor": "x", "models": [1], "never": "("}}, "not a regular expression"),
    ],
)
def test_a_sheet_that_contradicts_itself_is_refused(changes: dict[str, Any], expected: str) -> None:
    """The error names the word that is wrong."""
    with pytest.raises(ValidationError, match=expected):
        platform(**changes)


def test_a_platform_is_read_back_as_it_was_dumped() -> None:
    """Ranges and units are plain numbers in its JSON."""
    sheet = platform()
    assert sheet == Platform.model_validate_json(sheet.model_dump_json())


def test_the_maker_is_read_from_the_processors_vendor() -> None:
    """Of the two of x86 by the word that CPUID has; all others are Arm's kin."""
    assert [maker_of(each) for each in ("AuthenticAMD", "GenuineIntel", "ARM", "HiSilicon")] == ["amd", "intel", "arm", "arm"]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        (("infiniband", "ethernet", "ethernet"), "infiniband"),
        (("ethernet", "omni-path"), "omni-path"),
        (("ethernet",), "ethernet"),
        ((None,), None),
        ((), None),
    ],
)
def test_a_network_made_for_messages_goes_before_ethernet(layers: tuple[str | None, ...], expected: str | None) -> None:
    """However many ports of Ethernet there are beside it."""
    hcas = [
        Hca(name=f"a{at}", address=f"0000:{at}1:00.0", ports=(Port(number=1, state="active", link_layer=layer),))
        for at, layer in enumerate(layers)
    ]
    assert fabric_of(hcas) == expected
