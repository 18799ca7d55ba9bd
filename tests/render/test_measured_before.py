"""The page of two runs, before and after. EVERY VALUE IS INVENTED."""

import json

from advisor.advice.compare import before_after_document, before_after_lines, probability
from advisor.measure.measurement import BeforeAfter, Contrast, Side


def row(ratio: float = 1.5, p: float = 4.1e-5, says: str = "faster", hca: str | None = "mlx5_0") -> Contrast:
    """Return a message rate that changed."""
    before, after = (Side(number=9, median=rate, low=0.9 * rate, high=1.1 * rate) for rate in (10e6, 10e6 * ratio))
    known = {"hca": hca, "what": "message rate", "bytes": 8, "pairs": 64, "unit": "messages/s", "before": before, "after": after}
    return Contrast.model_validate({**known, "ratio": ratio, "p": p, "says": says})


def found(*rows: Contrast, warnings: tuple[str, ...] = ()) -> BeforeAfter:
    """Return a comparison."""
    before, after = "2026-11-20T12:00:00+00:00", "2026-11-21T12:00:00+00:00"
    return BeforeAfter(
        hosts="n1,n2", launcher="openmpi4 4.1.4", before=before, after=after, of="starts", rows=rows, warnings=warnings
    )


def text(told: BeforeAfter, width: int = 100) -> list[str]:
    """Return the page as plain lines."""
    return [" ".join("".join(words for words, _ in line).split()) for line in before_after_lines(told, width)]


def test_the_row_and_the_sentence() -> None:
    """Medians, ratio, p and the word stand in the table; a sentence says the same of the message rate."""
    page = text(found(row()), 140)
    assert page[1] == "Before and after n1 and n2, openmpi4 4.1.4, before 2026-11-20 12:00, after 2026-11-21 12:00"
    assert page[3] == "mlx5_0 M msg/s, 8 B 9 10.0 (9.00-11.0) 15.0 (13.5-16.5) 1.500 0.00004 faster"
    assert (
        "Through mlx5_0 the message rate of 64 pairs of ranks is 50 % higher (10.0 M msg/s before, 15.0 M msg/s after; "
        "p 0.00004, 9 and 9 starts)."
    ) in " ".join(page)


def test_nothing_shown_is_said_so() -> None:
    """Where chance explains it no difference is claimed; without an adapter there is no column of adapters."""
    page = text(found(row(1.01, 0.34, "no difference shown", None)))
    assert page[2].startswith("all cores n before after")
    assert "The message rate of 64 pairs of ranks: no difference shown" in " ".join(page)


def test_the_word_is_seen_on_a_narrow_terminal() -> None:
    """In 80 columns every row still ends with what it says, and warnings stand below."""
    page = text(found(row(1.01, 0.34, "no difference shown"), warnings=("the machine was busy before",)), 80)
    assert next(line for line in page if line.startswith("mlx5_0 M")).endswith("0.34 no difference shown")
    assert page[-1] == "! the machine was busy before"


def test_json_has_its_version() -> None:
    """The document names its schema, and has every figure."""
    told = json.loads(json.dumps(before_after_document(found(row()))))
    assert (told["schema"], told["rows"][0]["ratio"], told["rows"][0]["says"]) == ("advisor-before-after/1", 1.5, "faster")


def test_a_small_p_is_not_written_as_nought() -> None:
    """What is next to nothing is told as less than that."""
    assert [probability(p) for p in (1.0, 0.0123, 0.00049, 1e-12)] == ["1", "0.012", "0.00049", "< 0.00001"]
