from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor.advice.expression import LONGEST, parse, require
from advisor.advice.expression_tree import NUMBER, STEPS, TRUTH, Trouble, Unknown, facts_of
from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from tests.conftest import Golden
from tests.language.words import SCOPE, value

FACTS: dict[str, Any] = {
    "a": 7,
    "b": 2,
    "p": True,
    "q": False,
    "word": "linear",
    "text": "Mellanox",
    "cpus": CpuSet.parse("0-3"),
    "others": CpuSet.parse("2-5"),
    "numbers": (3, 1, 3),
    "texts": ("x", "y", "x"),
    "things": ({"n": 1, "name": "one", "on": True}, {"n": 2, "name": "two"}),
    "thing": {"n": 5, "cpus": CpuSet.parse("1")},
    "line": (("iommu", "pt"), ("quiet", None), ("iommu", "on")),
    "table": {"meltdown": "Not affected"},
}

CANONICAL = [
    ("a + b", 9),
    ("a - b", 5),
    ("a * b", 14),
    ("a / b", 3.5),
    ("a // b", 3),
    ("a % b", 1),
    ("-a", -7),
    ("2 * GiB", 2 << 30),
    ("1 * KiB + 1 * MiB + 1 * TiB", (1 << 10) + (1 << 20) + (1 << 40)),
    ("2 * GHz + 1 * MHz", 2_001_000_000),
    ("1 * MT + 1 * GT + 1 * Gb + 1 * GB", 3_001_000_000),
    ("90 * ns < 1 * us", True),
    ("a == 7 and not q", True),
    ("a != 7 or q", False),
    ("1 < b <= 2 < a", True),
    ("3 < b < a", False),
    ("1 < b < 2 < a", False),
    ("1 < b < a < 7", False),
    ("1 < b == 2 != a", True),
    ("1 < b == 2 != 2", False),
    ("a >= 8", False),
    ("a in [1, 7]", True),
    ("a not in [1, 7]", False),
    ("2 in cpus", True),
    ("4 / 2 in cpus", True),
    ("5 / 2 in cpus", False),
    ("cpus & others", CpuSet.parse("2-3")),
    ("cpus | others", CpuSet.parse("0-5")),
    ("cpus - others", CpuSet.parse("0-1")),
    ("cpus & others <= cpus", True),
    ("1 if p else 2", 1),
    ("word == 'linear'", True),
    ("'one' in ['one', text]", True),
    ("any(x.n > 1 for x in things)", True),
    ("all(x.n > 1 for x in things)", False),
    ("count(things)", 2),
    ("count(x for x in things if x.n > 1)", 1),
    ("sum(x.n for x in things)", 3),
    ("min(numbers)", 1),
    ("max(a, b, 8)", 8),
    ("distinct(numbers)", (3, 1)),
    ("list(x.name for x in things if x.n < 2)", ("one",)),
    ("option(line, 'iommu')", ("pt", "on")),
    ("option(line, 'quiet')", ("",)),
    ("option(line, 'nosmt') == []", True),
    ("starts(text, 'mell')", True),
    ("contains(text, 'LAN')", True),
    ("values(table)", ("Not affected",)),
    ("entry(table, 'meltdown')", "Not affected"),
    ("older('4.1.4', '4.1.10')", True),
    ("older('4.1', '4.1.0')", False),
    ("before('2019-08-07', '2020-01-01')", True),
    ("before('2019-08-20', '2019-08')", False),
    ("bus('0000:C1:00.0')", 193),
    ("hex(193)", "0xc1"),
    ("size(cpus)", 4),
    ("first(others)", 2),
    ("round(2.6)", 3),
    ("floor(2.6)", 2),
    ("abs(b - a)", 5),
    ("ratio(a, b)", 3.5),
    ("known(a)", True),
    ("thing.n", 5),
]


@pytest.mark.parametrize(("text", "expected"), CANONICAL, ids=[text for text, _ in CANONICAL])
def test_every_word_of_the_language(text: str, expected: object) -> None:
    """Each operator, unit, verb and gathering word yields what the README says."""
    assert value(text, FACTS) == expected


UNKNOWN = [
    ("a == 1", ["a"]),
    ("a + b > 0", ["a", "b"]),
    ("not p", ["p"]),
    ("p and q", ["p", "q"]),
    ("p or q", ["p", "q"]),
    ("1 if p else 2", ["p"]),
    ("1 if known(p) else unknown", ["p"]),
    ("thing.n > 1", ["thing.n"]),
    ("any(x.n > 1 for x in things)", ["things"]),
    ("a in [1, b]", ["a"]),
    ("1 in [2, b]", ["b"]),
    ("[a] == [1]", ["a"]),
    ("[a] != [1]", ["a"]),
    ("1 < a < b", ["a", "b"]),
    ("1 < 2 < a", ["a"]),
    ("a < 2 < 3", ["a"]),
    ("entry(table, 'x')", ["table"]),
    ("max(numbers)", ["numbers"]),
    ("unknown", []),
]


@pytest.mark.parametrize(("text", "expected"), UNKNOWN, ids=[text for text, _ in UNKNOWN])
def test_unknown_spreads_and_names_the_facts(text: str, expected: list[str]) -> None:
    """What nobody read stays not known, and the facts that would tell are named."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p and False", False),
        ("p or True", True),
        ("3 < 2 < a", False),
        ("a < 3 < 2", False),
        ("1 < a < 3 < 2", False),
        ("1 in [a, 1]", True),
        ("any(x.on for x in things)", True),
        ("known(a)", False),
        ("known([a])", False),
        ("all(x.n > 1 for x in things)", False),
        ("max(x.n for x in things if x.on)", ["things.on"]),
        ("any(True for x in (y for y in things if y.on) if x.n > 5)", ["things.on"]),
        ("sum(numbers)", ["numbers"]),
        ("3 in numbers", True),
        ("4 in numbers", ["numbers"]),
        ("entry(table, 'none')", ["table"]),
        ("before('2019', '2019-05')", []),
        ("older('unknown', '1.2')", []),
        ("ratio(1, 0)", []),
        ("min([])", []),
    ],
)
def test_what_decides_all_the_same(text: str, expected: object) -> None:
    """One false decides ``and``, one true ``or``; an item that may be missing decides nothing."""
    things = ({"n": 1, "on": True}, {"n": 2})
    assert value(text, {"things": things, "numbers": (3, None), "table": {}}) == expected


WRONG = [
    ("", "an expression is expected"),
    ("wrod == 'x'", "did you mean word?"),
    ("thing.nn", "did you mean n?"),
    ("word == 'roundrobin'", "word is never 'roundrobin'; did you mean round-robin?"),
    ("word in ['liner']", "did you mean linear?"),
    ("containz(text, 'x')", "did you mean contains?"),
    ("a == 'x'", "a is a number, 'x' a text: they cannot be compared"),
    ("a + text", "text is a text; arithmetic needs numbers"),
    ("a < text", "they cannot be compared"),
    ("text < 'b'", "cannot be ordered"),
    ("1 < a < text", "a is a number, text a text"),
    ("1 < 2 in [2]", "they cannot be compared"),
    ("!p", "write not for !"),
    ("p || q", "write or for ||"),
    ("2 in numbers in numbers", "'in' cannot be chained"),
    ("any(x > 1 for x in numbers if p if q)", "one for and at most one if"),
    ("cpus == []", "size(...) == 0"),
    ("a and p", "a is a number, but a truth value is expected"),
    ("not a", "a truth value is expected"),
    ("-p", "a number is expected"),
    ("sum(texts)", "sum cannot take a list of text"),
    ("any(numbers)", "any cannot take a list of number"),
    ("max(a)", "max needs a list"),
    ("things.n", "loop over it"),
    ("a.n", "contains no facts"),
    ("'x' in text", "in needs a list"),
    ("'x' in numbers", "'x' is a text, numbers a list of number"),
    ("1 if p else 'x'", "both must be of the same kind"),
    ("[1, 'x']", "the items before it are not"),
    ("[[], ['a'], [1]]", "the items before it are not"),
    ("max([] if p else ['a'])", "max cannot take"),
    ("hex(a, b)", "hex takes 1 arguments, not 2"),
    ("known()", "known takes 1 argument, not 0"),
    ("size(a)", "size needs a set of CPUs"),
    ("size(cpus=1)", "takes plain arguments"),
    ("a is b", "write == or !="),
    ("a = 1", "write == for ="),
    ("p && q", "write and for &&"),
    ("a ** b", "numbers take + - * / // %"),
    ("10 ** 10 ** 10", "numbers take"),
    ("lambda: 1", "is not part of the rule language"),
    ("numbers[0]", "is not part of the rule language"),
    ("f'{a}'", "is not part of the rule language"),
    ("text + 'x'", "arithmetic needs numbers"),
    ("thing.__class__", "has no fact __class__"),
    ("text.upper()", "there is no verb text.upper"),
    ("__import__('os')", "there is no verb __import__"),
    ("__builtins__", "there is no fact __builtins__"),
    ("_steps", "there is no fact _steps"),
    ("[x for x in numbers]", "is not part of the rule language"),
    ("any(x > 1 for a in numbers)", "a is already the name of a fact"),
    ("any(True for _steps in numbers)", "is not a name"),
    ("any(unknown for unknown in numbers)", "is a reserved word of the language"),
    ("any(x > 1 for x in numbers for y in numbers)", "one for and at most one if"),
    ("any(any(any(any(w > x for w in numbers) for x in numbers) for y in numbers) for z in numbers)", "more than 3"),
    ("(a := 1)", "is not part of the rule language"),
    ("1j", "is not a literal"),
    ("None", "is not a literal"),
    ("1e400", "is not a literal"),
    ("'\\d'", "not an expression"),
    ("+".join("a" * 40), "nested too deeply"),
    ("(" * 300 + "a" + ")" * 200, "not an expression"),
    ("a" * (LONGEST + 1), "the expression has 601 characters"),
    ("max(" + "1," * 65 + "1)", "at most 64"),
    ("a\x00", "not an expression"),
    ("~a", "~a is not part of the rule language"),
    ("text == 'é' and ~a", "~a is not part of the rule language"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=[text[:40] for text, _ in WRONG])
def test_what_is_not_of_the_language_is_refused(text: str, words: str) -> None:
    """A typo, a wrong kind or any other Python is refused before there is a machine, with a hint."""
    with pytest.raises(BadValue) as error:
        parse(text, SCOPE)
    assert words in str(error.value)


def test_each_refusal_to_the_letter(golden: Golden) -> None:
    """What a writer of rules reads: where the mistake is, what is wrong, and what to write instead."""
    lines = []
    for text, _ in WRONG:
        with pytest.raises(BadValue) as error:
            parse(text, SCOPE)
        lines.append(f"{text[:60]!r}\n  {str(error.value)[:300]}\n")
    golden("refusals.txt", "".join(lines))


@pytest.mark.parametrize("text", ["a / (b - b)", "a % (b - b)", "1e29 * 1e29 * a"])
def test_what_cannot_be_computed_is_trouble(text: str) -> None:
    """Division by zero and overflow are Trouble, not an exception of Python."""
    with pytest.raises(Trouble):
        value(text, FACTS)


def test_work_is_bounded() -> None:
    """Three loops over a long list end in Trouble, not in minutes."""
    with pytest.raises(Trouble, match="too many steps to evaluate"):
        value("any(any(any(x == -y - z for x in numbers) for y in numbers) for z in numbers)", {"numbers": tuple(range(1, 999))})


def test_a_fact_of_another_kind_is_trouble() -> None:
    """A value that is not of its fact's kind, such as a word where a number is due, is Trouble."""
    with pytest.raises(Trouble, match="has the wrong kind"):
        value("a < b", {"a": "auto", "b": 4})


def test_require_names_both_kinds() -> None:
    """An expression of another kind than wanted is refused, with both kinds."""
    with pytest.raises(BadValue, match="when must be a truth value, but a is a number"):
        require(parse("a", SCOPE), TRUTH, "when")
    assert require(parse("a", SCOPE), NUMBER, "gain").text == "a"


def test_a_long_part_is_cut_in_messages() -> None:
    """Of an expression 80 letters are shown."""
    text = " + ".join(["a"] * 21)
    assert (len(text), parse(text, SCOPE).text) == (81, text[:80])


def test_facts_inside_loops_are_those_of_the_list() -> None:
    """The facts of an expression are named as the Case has them, whatever a loop calls its items."""
    node = parse("any(x.n > a for x in things if x.on)", SCOPE)
    assert set(facts_of(node)) == {"things.n", "a", "things.on", "things"}


ATOMS = [
    "a",
    "b",
    "1",
    "2.5",
    "p",
    "q",
    "word",
    "'linear'",
    "text",
    "cpus",
    "numbers",
    "things",
    "thing.n",
    "unknown",
    "GiB",
    "[]",
]
SHAPES = [
    "({0} and {1})", "({0} or {1})", "(not {0})", "({0} == {1})", "({0} != {1})", "({0} < {1})", "({0} <= {1})", "({0} in {1})",
    "({0} not in {1})", "({0} + {1})", "({0} / {1})", "({0} % {1})", "({0} - {1})", "({0} & {1})", "({0} if {1} else {2})",
    "[{0}, {1}]", "any(x.on for x in {0})", "any({0} for x in things if x.on)", "all(x.n < {0} for x in {1})", "count({0})",
    "sum({0})", "min({0}, {1})", "max({0})", "distinct({0})", "any(y > {0} for y in numbers)", "list(y for y in {0} if {1})",
    "known({0})", "size({0})", "first({0})", "ratio({0}, {1})", "older({0}, {1})", "entry(table, {0})", "option(line, {0})",
]  # fmt: skip
texts = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.builds(lambda shape, parts: shape.format(*parts), st.sampled_from(SHAPES), st.tuples(inner, inner, inner)),
    max_leaves=8,
)
numbers = st.one_of(st.none(), st.integers(-3, 9))
truths = st.one_of(st.none(), st.booleans())
cpus = st.one_of(st.none(), st.sets(st.integers(0, 9)).map(CpuSet))
things = st.fixed_dictionaries({"n": numbers, "name": st.one_of(st.none(), st.just("one")), "on": truths, "cpus": cpus})
facts = st.fixed_dictionaries(
    {
        "a": numbers, "b": numbers, "p": truths, "q": truths, "cpus": cpus, "others": cpus,
        "word": st.sampled_from([None, "linear", "round-robin"]), "text": st.sampled_from([None, "", "1.2", "2020-01-01"]),
        "numbers": st.one_of(st.none(), st.lists(numbers, max_size=3).map(tuple)),
        "things": st.one_of(st.none(), st.lists(things, max_size=3).map(tuple)),
        "thing": st.one_of(st.none(), things),
        "line": st.one_of(st.none(), st.just((("linear", "1"),))), "table": st.one_of(st.none(), st.just({"1.2": "x"})),
    }
)  # fmt: skip


def blanked(value: Any, draw: st.DrawFn) -> Any:
    """Return facts with some of them, or parts of them, made unknown."""
    if value is None or draw(st.integers(0, 3)) == 0:
        return None
    if isinstance(value, dict):
        return {name: blanked(each, draw) for name, each in value.items()}
    if isinstance(value, tuple) and all(isinstance(each, (dict, int, type(None))) for each in value):
        return tuple(
            blanked(each, draw) if not isinstance(each, dict) else {n: blanked(v, draw) for n, v in each.items()}
            for each in value
        )
    return value


@st.composite
def more_and_less(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return facts, and the same with some of them unknown."""
    every = draw(facts)
    return every, {name: value if name in ("line", "table") else blanked(value, draw) for name, value in every.items()}


def outcome(text: str, env: dict[str, Any]) -> Any:
    """Return an expression's value, or Trouble; BadValue if it does not parse."""
    node = parse(text, SCOPE)
    try:
        return node.value({**env, "_steps": [STEPS]})
    except Trouble:
        return Trouble


def holes(value: Any) -> bool:
    """Return whether a value has something unknown in it, as a record may."""
    return isinstance(value, (Unknown, dict)) or (isinstance(value, tuple) and any(holes(each) for each in value))


@given(text=texts, both=more_and_less())
@example(text="([a, b] != [1, 2])", both=({"a": 1, "b": 2}, {"a": 1}))
@example(
    text="any(p for x in (y for y in things if y.on))",
    both=({"p": True, "things": ({"on": False},)}, {"p": True, "things": ({},)}),
)
def test_the_law_of_unknown(text: str, both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Learning a fact never changes a verdict: what was true or false with less known is so with more."""
    if "known(" in text:
        return
    every, fewer = both
    try:
        less = outcome(text, fewer)
    except BadValue:
        return
    more = outcome(text, every)
    if not holes(less) and less is not Trouble and more is not Trouble:
        assert more == less


@given(text=texts, env=facts)
def test_evaluating_never_fails_otherwise(text: str, env: dict[str, Any]) -> None:
    """An expression that was accepted yields a value, Unknown or Trouble on any facts."""
    try:
        parse(text, SCOPE)
    except BadValue:
        return
    outcome(text, env)


@given(st.text(max_size=80))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """Arbitrary text raises nothing but BadValue."""
    with suppress(BadValue):
        parse(text, SCOPE)


@given(texts, st.integers(0, 60), st.text(alphabet="()[]{}.,:;'\"\\=<>!&|^~@#$%*+-/ \t\n0aé_xifornotand", max_size=4))
def test_mutated_expressions_parse_or_are_refused(text: str, at: int, piece: str) -> None:
    """An expression with a piece put into it or cut from it raises nothing but BadValue."""
    for mutant in (text[:at] + piece + text[at:], text[:at] + text[at + len(piece) :]):
        with suppress(BadValue):
            parse(mutant, SCOPE)
