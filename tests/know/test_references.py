"""Every figure of the five articles stands in some sheet, in base units, with its article."""

import pytest

from advisor.advice.know.vendors import publications
from advisor.machine.value import Amount
from advisor.measure.platform import Platform, Reference, platform_by_id, platforms

NAPLES, ROME, HASWELL, DELFT = "dell-naples-2018", "dell-rome-2019", "dell-edr-fdr", "delft-blue"

ARTICLES = [
    ("naples", NAPLES, "stream-triad", "node", ["244 GB/s", "255.5 GB/s"]),
    ("naples", NAPLES, "stream-triad", "socket", ["50 %"]),
    ("naples", NAPLES, "stream-triad", "numa-node", ["32 GB/s", "30 GB/s", "70 %", "35 %", "100 %"]),
    ("naples", NAPLES, "stream-triad", "core", ["24.5 GB/s"]),
    ("naples", NAPLES, "peak", "node", ["1126 GFLOP/s"]),
    ("naples", NAPLES, "hpl", "node", ["1133 GFLOP/s", "100.6 %", "102..106 %"]),
    ("naples", NAPLES, "osu-latency", "pair", ["1.07 us", "1.17 us", "1.10 us", "2..9 %"]),
    ("naples", NAPLES, "osu-bw", "pair", ["12.4 GB/s"]),
    ("naples", NAPLES, "osu-bibw", "pair", ["24.7 GB/s"]),
    (
        "naples",
        NAPLES,
        "osu-mbw-mr",
        "pair",
        [f"{rate} GB/s" for rate in (6.9, 6.8, 6.8, 6.8, 12.1, 12.2, 12.3, 12.1, 2.4, 5.1, 3.0, 2.9)],
    ),
    ("naples", NAPLES, "wrf", "cluster", ["3 %", "2..3 %"]),
    ("rome", ROME, "stream-triad", "node", ["270..300 GB/s", "5..19 %", "9..17 %", "13 %", "5..10 %"]),
    ("rome", ROME, "stream-triad", "core", ["2.. GB/s"]),
    ("rome", ROME, "hpl", "node", ["5 %"]),
    ("rome", ROME, "hpl", "cluster", ["90.. %", "97..102 %"]),
    ("rome", ROME, "osu-bw", "pair", ["100 Gb/s"]),
    ("rome", ROME, "osu-bibw", "pair", ["200 Gb/s"]),
    ("haswell", HASWELL, "osu-latency", "pair", ["0.80 us", "0.81 us", "2.75 us", "2.84 us"]),
    ("haswell", HASWELL, "rdma-latency", "pair", ["0.61 us", "0.65 us"]),
    ("haswell", HASWELL, "osu-bw", "pair", ["12.4 GB/s", "6.3 GB/s"]),
    ("haswell", HASWELL, "osu-bibw", "pair", ["24.2 GB/s", "10.8 GB/s"]),
    ("haswell", HASWELL, "message-rate", "pair", ["150 Mmsg/s", "90 Mmsg/s"]),
    ("haswell", HASWELL, "hpl", "cluster", ["90.6..91.1 %"]),
    ("cascade-lake", DELFT, "peak", "node", ["3840 GFLOP/s", "2304 GFLOP/s"]),
    ("cascade-lake", DELFT, "load", "socket", ["132 GB/s"]),
    ("cascade-lake", DELFT, "load", "node", ["256 GB/s"]),
    ("cascade-lake", DELFT, "store", "node", ["125 GB/s"]),
    ("cascade-lake", DELFT, "copy", "node", ["165 GB/s"]),
    ("cascade-lake", DELFT, "triad", "node", ["184 GB/s"]),
    ("cascade-lake", DELFT, "mpi-sendrecv", "pair", ["1.2 us", "12.5 GB/s", "25 GB/s"]),
    ("cascade-lake", DELFT, "cross-section", "cluster", ["5 TB/s"]),
    ("sapphire-rapids", DELFT, "peak", "node", ["5.7 TFLOP/s", "..45 TFLOP/s"]),
    ("sapphire-rapids", DELFT, "load", "node", ["400 GB/s"]),
]


@pytest.mark.parametrize(("sheet", "source", "benchmark", "of", "values"), ARTICLES)
def test_the_articles_figures_stand_in_the_sheets(sheet: str, source: str, benchmark: str, of: str, values: list[str]) -> None:
    """In the order in which the articles give them."""
    expected = [Amount.model_validate(value) for value in values]
    actual = [
        each.value
        for each in platform_by_id(sheet).references
        if (each.source, each.benchmark, each.of) == (source, benchmark, of)
    ]
    assert expected == actual


def test_the_articles_systems_name_their_processors_and_memory() -> None:
    """Who compares with a figure must know what it was measured on."""
    told = {
        sheet.id: ({cpu for each in sheet.references if each.source in {NAPLES, ROME, HASWELL, DELFT} for cpu in each.cpus})
        for sheet in platforms()
    }
    expected = {
        "naples": {"EPYC 7601", "EPYC 7551", "EPYC 7351", "EPYC 7351P"},
        "rome": {"EPYC 7702", "EPYC 7502", "EPYC 7452", "EPYC 7402"},
        "haswell": {"Xeon E5-2660 v3"},
        "cascade-lake": {"Xeon Gold 6248R"},
        "sapphire-rapids": {"Xeon Gold 6448Y"},
    }
    assert expected == {sheet: cpus for sheet, cpus in told.items() if cpus}


@pytest.mark.parametrize(
    ("sheet", "cores", "hertz", "expected"),
    [("naples", 64, 2.2e9, 1126e9), ("rome", 128, 2.0e9, 4096e9), ("cascade-lake", 48, 2.5e9, 3840e9)],
)
def test_the_peaks_follow_from_flops_per_cycle(sheet: str, cores: int, hertz: float, expected: float) -> None:
    """Cores x FLOP a cycle x clock, as the articles multiply it."""
    flops = platform_by_id(sheet).flops_per_cycle
    assert flops is not None
    assert pytest.approx(expected, rel=0.001) == cores * flops * hertz


def test_publications_say_where_to_read_them() -> None:
    """A URL, a repository, a document by name: never a path of somebody's machine."""
    assert [name for name, each in publications().items() if each.where.startswith(("/", "~", "file:"))] == []


def test_what_nobody_published_is_cited_as_unverified() -> None:
    """The id exists, and says that it is none."""
    assert publications()["unverified"].where.startswith("no publication")


# What HPL and STREAM gave elsewhere, read off outputs that were printed.
PRINTED = {
    "alcf-crux-hpl", "easybuild-hpl-rome", "kinghorn-epyc-hpl", "gcp-h4d-hpl", "thaisc-tara-hpl", "dell-c4140-hpl", "csd3-hpl",
    "sigma2-fram-hpl", "pace-ice-hpl", "curell-spr-hpl",
}  # fmt: skip


def _printed() -> list[tuple[Platform, Reference]]:
    return [
        (sheet, each)
        for sheet in platforms()
        for each in sheet.references
        if each.source in PRINTED or (each.source in {"usc-reframe", "epcc-reframe"} and each.benchmark != "stream-triad")
    ]


def test_hpl_s_published_outputs_are_there() -> None:
    """22 of HPL, and 23 of STREAM beside triads: each with its source and what is known of how it was run."""
    found = [each for _, each in _printed()]
    assert [sum(each.benchmark == "hpl" for each in found), sum(each.benchmark != "hpl" for each in found)] == [22, 23]
    assert [each for each in found if not each.condition] == []


def test_no_published_run_of_hpl_is_above_what_its_cores_can_do() -> None:
    """106 % of the peak at base clock is the most that a publication gives; a slipped digit is far above."""
    clocks = {"EPYC 7742": 2.25e9, "EPYC 7452": 2.35e9, "EPYC 7V12": 2.45e9, "Xeon Gold 6148": 2.4e9}
    clocks |= {"Xeon E5-2683 v4": 2.1e9, "Xeon E5-2680 v4": 2.4e9}
    shares = [
        (each.value.low or 0) / (each.cores * (sheet.core_peak(clocks[each.cpus[0]]) or 0))
        for sheet, each in _printed()
        if each.benchmark == "hpl" and each.cores and each.cpus
    ]
    assert (len(shares), round(min(shares), 3), round(max(shares), 3)) == (16, 0.237, 1.005)
