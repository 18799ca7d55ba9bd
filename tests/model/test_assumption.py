"""What may be assumed of firmware, and how it is written."""

import pytest

from advisor.errors import BadValue
from advisor.machine.hardware import Bios
from advisor.machine.layout import parse_assumption


@pytest.mark.parametrize(
    ("text", "field", "meaning"),
    [
        *((f"nps={each}", "nps", each) for each in (0, 1, 2, 4)),
        *((f"snc={word}", "snc", each) for word, each in (("off", 1), ("2", 2), ("3", 3), ("4", 4), ("6", 6))),
        *((f"interleave={each}", "interleave", each) for each in ("channel", "die", "socket")),
        *((f"enumeration={each}", "enumeration", each) for each in ("linear", "round-robin")),
        *(
            (f"{name}={word}", name.replace("-", "_"), each)
            for name in ("l3-as-node", "cod", "smt") for word, each in (("on", True), ("off", False))
        ),
    ],
)  # fmt: skip
def test_each_assumption_is_read_and_written(text: str, field: str, meaning: object) -> None:
    """What is written means one value of one setting, leaves the others open, and comes back as it was written."""
    made = parse_assumption([text])
    assert (made.model_dump(exclude_none=True), made.text) == ({field: meaning}, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nsp=4", "cannot predict a change of 'nsp'; did you mean nps=4?"),
        ("l3_as_nod=on", "cannot predict a change of 'l3_as_nod'; did you mean l3-as-node=on?"),
        ("nps", "'nps' sets nothing; write nps=1|2|4|0"),
        ("nps=3", "nps cannot be '3'; use one of 1, 2, 4, 0"),
        ("smt=on,smt=off", "smt is given two values; give each setting once"),
    ],
)
def test_what_cannot_be_assumed_is_refused(text: str, line: str) -> None:
    """In one line, with what would be right."""
    with pytest.raises(BadValue) as error:
        parse_assumption([text])
    assert str(error.value) == line


def test_only_what_the_next_boot_changes_is_a_change() -> None:
    """Makers list values as pending that are those in effect."""
    bios = Bios(attributes={"A": "1", "B": 2}, pending={"A": "1", "B": 3, "C": None})
    assert (bios.changed(), Bios(attributes={"A": "1"}, pending=None).changed()) == ({"B": 3}, {})
