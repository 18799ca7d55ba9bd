import re
from collections.abc import Iterator
from itertools import product
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring

from advisor.machine.hardware import Firmware
from advisor.machine.machine import Machine
from advisor.show.picture import picture
from advisor.show.svg import COLOURS, Font, _columns_for, draw_svg, heat_colour, width_of
from tests.conftest import Golden
from tests.render import made

NS = "{http://www.w3.org/2000/svg}"
MACHINES = [made.naples(), made.rome(), made.superdome(), made.gpu_memory(), made.confined()]


def svg(machine: Machine) -> Element:
    """Return the parsed drawing."""
    root: Element = fromstring(draw_svg(picture(machine, made.layout())))
    return root


def texts(root: Element, x: float = 0) -> Iterator[tuple[float, Element]]:
    """Yield every text with the left edge it is drawn from."""
    for child in root:
        move = child.get("transform", "translate(0,0)").removeprefix("translate(").split(",")[0]
        if child.tag == f"{NS}text":
            yield x + float(child.get("x", "0")), child
        else:
            yield from texts(child, x + float(move))


def words(root: Element) -> list[str]:
    """Return every text as it is shown."""
    return [_shown(text) for _, text in texts(root)]


def _shown(text: Element) -> str:
    return (text.text or "") + "".join(child.tail or "" for child in text)


def test_drawing(golden: Golden) -> None:
    """A machine is drawn as it was accepted."""
    golden("naples.svg", draw_svg(picture(made.naples(), made.layout())))


@pytest.mark.parametrize("machine", MACHINES)
def test_text_stays_on_the_page(machine: Machine) -> None:
    """No text leaves the page, and none is too small to read."""
    root = svg(machine)
    page = float(root.get("width", "0"))
    for left, text in texts(root):
        font = Font(int(text.get("font-size", "0")), bold=text.get("font-weight") == "bold")
        share = {"end": 1.0, "middle": 0.5}.get(text.get("text-anchor", ""), 0.0)
        start = left - share * width_of(_shown(text), font)
        assert start >= 0
        assert start + width_of(_shown(text), font) <= page
        assert font.size >= 10


def test_boxes_hold_their_texts() -> None:
    """A text that starts in a group with a box ends in that box."""
    for group in svg(made.naples()).iter(f"{NS}g"):
        for box, text in product(group.findall(f"{NS}rect"), group.findall(f"{NS}text")):
            left, x = float(box.get("x", "0")), float(text.get("x", "0"))
            right = left + float(box.get("width", "0"))
            if text.get("text-anchor") is None and left <= x < right:
                font = Font(int(text.get("font-size", "0")), bold=text.get("font-weight") == "bold")
                assert x + width_of(_shown(text), font) <= right


def test_hostile_names_stay_text() -> None:
    """Markup in a name is drawn as text."""
    machine = made.naples().model_copy(update={"name": "<script>alert('x')</script>&\x00"})
    root = svg(machine)
    assert not list(root.iter(f"{NS}script"))
    assert words(root)[0].startswith("<script>alert('x')</script>&?")


def test_long_text_is_cut_with_a_tooltip() -> None:
    """A text too long for its place ends in an ellipsis and keeps the whole as its tooltip."""
    product_name = "Precision " * 20
    machine = made.naples().model_copy(update={"name": "n" * 80, "firmware": Firmware(product=product_name)})
    title = next(text for _, text in texts(svg(machine)))
    assert _shown(title).endswith("…")
    assert title.findtext(f"{NS}title") == f"{'n' * 80} · {product_name[:79]}…"


def test_link_and_port() -> None:
    """An HCA stands at its node with its link, and its port's state in words."""
    shown = words(svg(made.naples()))
    assert {"HCA mlx5_0", "DOWN", "PCIe 4.0 x8 of x16"} <= set(shown)


def test_a_small_machine_has_a_small_page() -> None:
    """The letters of a small machine are not lost on a wide page; a large one gets it."""
    small, large = made.machine(made.topology(made.Shape(sockets=1, nodes=1))), made.machine(made.topology(made.Shape(nodes=16)))
    assert [svg(machine).get("width") for machine in (small, large)] == ["960", "1600"]


def test_whole() -> None:
    """On request every socket is drawn."""
    text = draw_svg(picture(made.superdome(), made.layout()), whole=True)
    assert "Socket 23<" in text


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2.1 defines it."""
    levels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (level / 12.92 if level <= 0.03928 else ((level + 0.055) / 1.055) ** 2.4 for level in levels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_contrast() -> None:
    """Every colour of text stands out from every colour it may be drawn on, by 4.5 to 1."""
    drawn = "".join(draw_svg(picture(machine, made.layout())) for machine in MACHINES)
    inks = {luminance(colour) for colour in re.findall(r'<text [^>]*fill="(#\w{6})"', drawn)}
    papers = [luminance(fill) for fill, _ in COLOURS.values()]
    assert min((paper + 0.05) / (ink + 0.05) for ink in inks for paper in papers) >= 4.5
    dark = luminance(Font().fill)
    assert min((luminance(heat_colour(share / 10)) + 0.05) / (dark + 0.05) for share in range(11)) >= 4.5


def test_distances_in_grey() -> None:
    """Printed without colours, a farther node is darker."""
    greys = [luminance(heat_colour(share / 10)) for share in range(11)]
    assert greys == sorted(greys, reverse=True)


def test_many_nodes_stay_small() -> None:
    """A table of more nodes than can be numbered draws equal neighbours as one, each with its distance as a tooltip."""
    text = draw_svg(picture(made.machine(made.topology(made.Shape(nodes=32, l3=1, cores=1))), made.layout()))
    assert "light is near (10), dark is far (32)" in text
    assert 64 * 3 <= text.count("<title>") < 64 * 5


def test_nothing_from_elsewhere() -> None:
    """The drawing needs no font, script, image or address from outside."""
    text = draw_svg(picture(made.naples(), made.layout())).replace("http://www.w3.org/2000/svg", "")
    assert not [word for word in ("http", "href", "url(", "@import", "<script", "<image") if word in text]


def test_gpus_and_adapters_hang_below_the_switch_that_they_share() -> None:
    """Each GPU is drawn by itself; a switch with one card below it is no branch."""
    ports = {"0000:41:00.0": "b1:00.0", "0000:42:00.0": "b2:00.0", "0000:43:00.0": "b2:01.0", "0000:44:00.0": "b2:02.0"}
    cards = []
    for address, port in ports.items():
        switch = f"0000:{port[:2]}:ff.0"
        upstream = ("pci0000:40", "0000:40:01.1", switch, f"0000:{port}")
        cards.append(made.card(address, "gpu", 0).model_copy(update={"upstream": upstream, "card": None, "link": None}))
    seen = words(svg(made.rome().model_copy(update={"pci": tuple(cards), "gpus": None, "hcas": None, "nics": None})))
    assert [each for each in seen if each.startswith(("GPU", "PCIe switch"))] == [
        "GPU 41:00.0", "PCIe switch b2:ff.0", "GPU 42:00.0", "GPU 43:00.0", "GPU 44:00.0",
    ]  # fmt: skip


@pytest.mark.parametrize(("items", "columns"), [(16, 2), (12, 3), (7, 3), (8, 2), (1, 1), (0, 1)])
def test_a_grid_leaves_no_tile_alone_in_the_last_row(items: int, columns: int) -> None:
    """Of three columns that fit two are taken where three would leave a row short."""
    assert _columns_for(items, 300, 90) == columns
