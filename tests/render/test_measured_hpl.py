"""What is shown of HPL. EVERY VALUE IS INVENTED but those of article [000]: 1133 GFLOP/s of a peak of 1126."""

from typing import Any

from advisor.model.measurement import Conditions, Identity, Measurements, Result
from advisor.render.measured_hpl import efficiency

DETAILS = {
    "n": 86400,
    "nb": 192,
    "p": 8,
    "q": 8,
    "ranks": 64,
    "threads": 1,
    "blas": "OpenBLAS",
    "blas_core": "Zen",
    "program": "hpl",
}


def text(**fields: Any) -> list[str]:
    """Return the section of one run as plain lines."""
    details = {**DETAILS, **fields.pop("details", {})}
    run: dict[str, Any] = {"task": "hpl/hpl/machine/lu", "kernel": "hpl", "purpose": "hpl", "variant": "lu", "part": "machine"}
    run |= {"cpus": (0,), "unit": "flop/s", "values": (1133e9,), "details": details}
    under = Conditions(started="2026-11-21T12:00:00+00:00", idle=True)
    measured = Measurements(advisor="0", machine=Identity(), conditions=under, results=(Result(**(run | fields)),))
    return [" ".join("".join(words for words, _ in line).split()) for line in efficiency(measured, 120)]


def test_it_stands_against_both_peaks() -> None:
    """The article's 100.6 % of base clock is explained by the peak under load beside it."""
    lines = text(details={"peak_base": 1126.4e9, "peak_load": 1380e9, "dgemm_all": 1240e9})
    assert lines[3] == "86400 192 8 x 8 1 1130 101 % 82 % 91 %"
    assert lines[1] == "HPL hpl, OpenBLAS Zen, 64 ranks, one run"


def test_peaks_that_are_not_known_say_so() -> None:
    """Nothing is divided by what nobody knows."""
    assert text()[3:] == ["86400 192 8 x 8 1 1130 - - -", "no peak at base clock is known; no peak under load was measured"]


def test_a_wrong_kernel_is_named() -> None:
    """What speaks against the BLAS stands below, with what to try."""
    assert (
        text(details={"blas_doubt": "OpenBLAS took this processor for Prescott"})[-1]
        == "! OpenBLAS took this processor for Prescott"
    )


def test_what_is_refused_is_in_no_table() -> None:
    """A failed residual is no rate."""
    assert text(refused="its residual test failed") == []
