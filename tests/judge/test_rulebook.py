from pathlib import Path

import pytest

from advisor.advice.judge.rule import Misplaced
from advisor.advice.judge.rulebook import load_rules, rule_files
from advisor.errors import BadSheet
from advisor.paths import rules
from advisor.sheets import read_sheet
from tests.judge.made import found, words

RULE = """\
- {id: ID, title: t, severity: low, where: os, let: {most: 2}, when: kernel.numa_balancing > most, say: s, why: w, want: w,
   fix: f, check: c, undo: u, refs: [site], tests: [{given: {}, expect: unknown}]}
"""
SHIPPED = """\
- id: ID
  title: t
  severity: low
  where: os
  when: kernel.numa_balancing > 2
  say: s
  tests:
    - given: {}
      expect: unknown

    # of a machine of old
    - {given: {kernel.numa_balancing: 1}, expect: pass}
  why: w
  want: w
  fix: f
  check: c
  undo: u
  refs: [site]
"""


def sheet(folder: Path, name: str, text: str) -> Path:
    """Return a file with a text."""
    path = folder / name
    path.write_text(text)
    return path


def test_a_site_adds_changes_and_waives(tmp_path: Path) -> None:
    """Rules keep their file, line and topic; a site's values count, the last file's most; waivers are gathered."""
    own = sheet(tmp_path, "numa.yaml", RULE.replace("ID", "own-one") + RULE.replace("ID", "own-two"))
    first = sheet(tmp_path, "a.yaml", "let: {own-one: {most: 7}}\nrules:\n" + RULE.replace("ID", "site-one"))
    last = "let: {own-one: {most: 9}}\nwaivers: [{id: own-two, reason: r, until: 2027-02-28}]"
    book = load_rules([own], [first, sheet(tmp_path, "b.yaml", last)], words())
    assert [(r.id, r.topic, Path(r.file).name, r.line) for r in book.rules] == [
        ("own-one", "numa", "numa.yaml", 1),
        ("own-two", "numa", "numa.yaml", 3),
        ("site-one", "a", "a.yaml", 3),
    ]
    assert [found(rule, kernel__numa_balancing=8)[0].verdict for rule in book.rules] == ["pass", "finding", "finding"]
    assert [(w.id, w.hosts, w.until) for w in book.waivers] == [("own-two", ("*",), "2027-02-28")]
    assert (book.named("own-two"), book.named("none")) == (book.rules[1], None)


def test_two_rules_of_one_id_name_both_places(tmp_path: Path) -> None:
    """The second is refused; the message says where the first is."""
    own = sheet(tmp_path, "numa.yaml", RULE.replace("ID", "one"))
    site = sheet(tmp_path, "site.yaml", "\n" + RULE.replace("ID", "one"))
    with pytest.raises(BadSheet) as error:
        load_rules([own], [site], words())
    assert str(error.value) == f"{site}: line 2: rule one appears twice; the first one is in {own} line 1; use another id"


def test_a_value_that_breaks_the_rule_elsewhere_is_the_sites_mistake(tmp_path: Path) -> None:
    """A value that only fits the name itself is refused where the site wrote it."""
    own = sheet(tmp_path, "numa.yaml", RULE.replace("ID", "one").replace("most: 2", "most: unknown"))
    site = sheet(tmp_path, "site.yaml", "let:\n  one:\n    most: '\"x\"'\n")
    with pytest.raises(BadSheet, match=r"line 3: let: one: column 1: kernel\.numa_balancing is a number") as error:
        load_rules([own], [site], words())
    assert error.value.file == str(site)


def test_examples_of_shipped_rules_are_passed_over(tmp_path: Path) -> None:
    """An audit reads the product's rules without their examples, a site's with them; the rules are the same."""
    shipped = SHIPPED.replace("ID", "one") + SHIPPED.replace("ID", "three")
    own, site = sheet(tmp_path, "own.yaml", shipped), sheet(tmp_path, "site.yaml", RULE.replace("ID", "two"))
    quick = load_rules([own], [site], words(), examples=False).rules
    whole = load_rules([own], [site], words()).rules
    assert [len(rule.text.tests) for rule in quick] == [0, 0, 1]
    assert [len(rule.text.tests) for rule in whole] == [2, 2, 1]
    assert [(rule.id, rule.line, rule.when.text) for rule in quick] == [(rule.id, rule.line, rule.when.text) for rule in whole]


@pytest.mark.parametrize("path", rule_files(rules()), ids=lambda path: path.stem)
def test_shipped_rules_are_the_same_without_examples(path: Path) -> None:
    """Of every rule file that we ship, what is left without its examples is what it says, each value in its line."""
    quick, whole = read_sheet(path, without="tests"), read_sheet(path)
    assert quick.data == [{key: value for key, value in rule.items() if key != "tests"} for rule in whole.data]
    assert quick.lines == {place: line for place, line in whole.lines.items() if "tests" not in place[1:2]}


def test_shipped_expressions_are_read_when_they_are_needed(tmp_path: Path) -> None:
    """An audit of other work reads no expression of a shipped rule; with a site's value for it, all are checked at once."""
    text = SHIPPED.replace("ID", "one").replace("  say: s", "  let: {most: 2}\n  say: s")
    own = sheet(tmp_path, "own.yaml", text.replace("numa_balancing", "numa_balancin"))
    (rule,) = load_rules([own], [], words(), examples=False).rules
    assert (rule.id, rule.where) == ("one", "os")
    with pytest.raises(BadSheet, match=r"one: when: column 1: Kernel has no fact numa_balancin"):
        load_rules([own], [sheet(tmp_path, "site.yaml", "let: {one: {most: 3}}")], words(), examples=False)


def test_a_shipped_expression_that_is_wrong_names_its_rule(tmp_path: Path) -> None:
    """Where nobody tried a changed rule, an audit that comes to the mistake says in which file and at which rule."""
    own = sheet(tmp_path, "own.yaml", "\n" + SHIPPED.replace("ID", "one").replace("numa_balancing", "numa_balancin"))
    (rule,) = load_rules([own], [], words(), examples=False).rules
    with pytest.raises(Misplaced) as error:
        found(rule)
    assert str(error.value).startswith(f"{own}: line 2: one: when: column 1: Kernel has no fact numa_balancin")


def test_a_site_rule_without_examples_is_refused_in_an_audit(tmp_path: Path) -> None:
    """A rule of a site that has no examples is refused, also where the product's are not read."""
    bare = sheet(tmp_path, "site.yaml", RULE.replace("ID", "two").split(", tests:")[0] + "}\n")
    with pytest.raises(BadSheet, match="two: tests is missing"):
        load_rules([], [bare], words(), examples=False)
