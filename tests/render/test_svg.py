from collections.abc import Iterator
from itertools import product
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring

from advisor.model.firmware import Firmware
from advisor.model.machine import Machine
from advisor.render.picture import picture
from advisor.render.svg import draw_svg
from advisor.render.tiles import Font, width_of
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
    assert {"HCA mlx5_0", "DOWN", "x8 16 GT/s of x16 16 GT/s"} <= set(shown)


def test_nothing_from_elsewhere() -> None:
    """The drawing needs no font, script, image or address from outside."""
    text = draw_svg(picture(made.naples(), made.layout())).replace("http://www.w3.org/2000/svg", "")
    assert not [word for word in ("http", "href", "url(", "@import", "<script", "<image") if word in text]
