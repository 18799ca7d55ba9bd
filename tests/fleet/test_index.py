"""What goes into the index comes out of it: whatever captures told, records and folded nodes are equal to what was put in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.fleet import read as index
from advisor.fleet.fold import Fact, Folded, Hardware, Judged, Part
from advisor.fleet.read import Distinct, Read, Record
from advisor.machine.observer import SILENT
from tests.examples import examples

texts = st.text(max_size=12)
names = st.text("abcd.", min_size=1, max_size=6)
keys = st.one_of(
    texts, st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.lists(texts).map(tuple)
)
facts = st.builds(Fact, key=keys, text=texts, size=st.none() | st.integers(0), inside=st.none() | names)
modules = st.none() | st.lists(st.tuples(texts, st.integers(1, 99)), max_size=2).map(tuple)
hardware = st.builds(Hardware, st.lists(texts, max_size=2).map(tuple), st.lists(st.tuples(names, modules), max_size=2).map(tuple))
judgements = st.builds(Judged, names, st.sampled_from(["high", "medium", "low", "info"]), texts, texts, texts)
judged = st.lists(judgements, max_size=2).map(tuple)
stamps = st.none() | st.lists(st.tuples(texts, st.integers(0), st.integers(0)), min_size=1, max_size=2).map(tuple)


@st.composite
def reads(draw: st.DrawFn) -> Read:
    """Draw what captures told: nodes that share what they are, parts that several share, nodes that told nothing."""
    shelf = draw(
        st.lists(
            st.tuples(st.dictionaries(names, facts, min_size=1, max_size=3), st.frozensets(names, max_size=2)),
            min_size=1,
            max_size=3,
        )
    )
    parts = [Part(bytes([at]) * 16, own, lists) for at, (own, lists) in enumerate(shelf)]
    several = st.dictionaries(names, st.sampled_from(parts), min_size=1, max_size=3)
    distinct = draw(
        st.dictionaries(names, st.builds(Distinct, st.builds(Folded, hardware, several), judged), min_size=1, max_size=2)
    )
    digests = st.sampled_from([None, *distinct])
    records = draw(
        st.dictionaries(names, st.tuples(digests, *[st.none() | texts] * 4, judged, st.none() | texts), min_size=1, max_size=4)
    )
    return Read({node: Record(node, *told) for node, told in records.items()}, distinct)


@examples(150)
@given(read=reads(), stamp=stamps)
def test_an_index_holds_what_was_put_into_it(
    tmp_path_factory: pytest.TempPathFactory, read: Read, stamp: index.Stamp | None
) -> None:
    """Records, stamps, findings and every fact with its key: a second look differs in nothing from the first."""
    place = tmp_path_factory.getbasetemp() / "index.zst"
    known = {node: stamp for node in read.records if stamp is not None}
    index._save(place, "mark", read, known, SILENT)
    found, stamps_ = index._load(place, "mark")
    assert (found, stamps_) == (read, {node: known.get(node) for node in read.records})
    assert index._load(place, "another mark") == (Read(), {})
