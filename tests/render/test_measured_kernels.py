"""Kernels in tables: what each can measure, and what a kernel of one's own gave. EVERY VALUE IS INVENTED."""

from typing import Any

import pytest
from rich.console import RenderableType

from advisor.measure.measurement import KernelSheet, Measurements, Variant
from advisor.measure.page import kernels_page, measured_page
from tests.printing import printed
from tests.render import measurements as made

UPDATE = Variant(name="update", unit="updates/s", arrays=1, read=8, written=8, flops=None, iteration="random updates, x ^= r")
GUPS = KernelSheet(name="gups", summary="updates of memory", parts=("core", "machine"), variants=(UPDATE,))


def gups(**more: Any) -> Measurements:
    """Return what such a kernel gave on one core and on all."""
    known: dict[str, Any] = {"kernel": "gups", "purpose": "kernel", "isa": None}
    one = made.result("update", [0], 54.5e6, "updates/s", part="core", index=0, **known)
    every = made.result("update", range(8), 109e6, "updates/s", part="machine", index=None, **known)
    return made.of(one, every).model_copy(update={"kernels": (GUPS,), **more})


def text(page: RenderableType, width: int = 100) -> str:
    """Return a page with single blanks."""
    return "\n".join(" ".join(line.split()) for line in printed(page, width).splitlines())


def test_a_kernel_of_one_s_own_has_a_table() -> None:
    """Its heading and its titles are its own words; a unit that only it knows gets a prefix."""
    said = text(measured_page(gups()))
    assert "gups updates of memory, median of 5 repeats" in said
    assert ("core 0 1 random updates 54.5 M updates/s" in said, "machine 8 random updates 109 M updates/s" in said) == (
        True,
        True,
    )


def test_without_its_sheet_it_has_names() -> None:
    """A file of another advisor may not hold what the kernel says of itself."""
    assert "core 0 1 update 54.5 M updates/s" in text(measured_page(gups(kernels=())))


def test_the_list_names_variants_units_and_costs() -> None:
    """And on which parts a kernel runs; what cannot be read stands below."""
    said = text(kernels_page([GUPS], ["kernels/x.c: line 7: update has no unit"])).splitlines()
    assert said == [
        "gups updates of memory, on core, machine",
        "variant unit arrays read written flops iteration",
        "update updates/s 1 8 8 - random updates, x ^= r",
        "! kernels/x.c: line 7: update has no unit",
    ]


@pytest.mark.parametrize("width", [64, 80, 250])
def test_the_list_cuts_no_sentence(width: int) -> None:
    """What an iteration does is broken into lines where it does not fit: nothing is cut."""
    long = GUPS.variants[0].model_copy(update={"iteration": "one update of a random element, then of the next one, " * 3})
    said = text(kernels_page([GUPS.model_copy(update={"variants": (long,)})]), width).replace("\n", " ")
    assert ("…" in said, said.count("random element")) == (False, 3)
