"""Rules, words and cases for the tests of judging."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from advisor.advice.judge.case import Case
from advisor.advice.judge.engine import Origins, ask, finding
from advisor.advice.judge.rule import Rule, Stand, Words, check_rule, example_facts, scope_with
from advisor.advice.model.findings import Finding
from advisor.advice.model.sheets import RuleText, Setting
from advisor.machine.machine import Gap, Source
from advisor.measure.platform import Scope

_SETTINGS: dict[str, dict[str, Any]] = {
    "numa.nps": {"where": "bios", "type": "number", "values": {"1": "one", "4": "four"}, "reboot": "yes"},
    "cpu.boost": {"where": "bios", "type": "choice", "values": {"on": "on", "off": "off"}, "reboot": "yes"},
    "os.memlock": {"where": "os", "type": "number", "reboot": "no", "show": "ulimit -l"},
}
SETTINGS: dict[str, Setting] = {
    name: Setting.model_validate({"name": name, "term": name, "title": name, "breaks": "nothing", **keys})
    for name, keys in _SETTINGS.items()
}
SOURCES = (Source(fact="topology", where="/sys"), Source(fact="kernel.thp", where="/sys/kernel/mm"))
GAPS = (Gap(fact="memory.dimms", why="permission denied", help="run as root"),)


@cache
def words() -> Words:
    """Return the facts, three settings and two publications."""
    return Words(scope_with(SETTINGS), SETTINGS, frozenset(("dell-rome-2019", "amd-58002")))


def rule(let_of_site: Mapping[str, str] | None = None, **keys: Any) -> Rule:
    """Return a checked rule that is whole but for the keys given."""
    base = {
        "id": "made-rule", "title": "Made", "severity": "low", "where": "os", "when": 'kernel.thp == "always"', "say": "it is so",
        "why": "Because.", "want": "that", "fix": "do", "check": "look", "undo": "undo", "refs": ["site"],
        "tests": [{"given": {"kernel.thp": "always"}, "expect": "finding"}],
    }  # fmt: skip
    return check_rule(RuleText.model_validate({**base, **keys}), words(), Stand("made", "made.yaml", 3), let_of_site)


def origins(case: Case | None = None) -> Origins:
    """Return the sources and gaps of a machine."""
    return Origins(SOURCES, GAPS, case or Case(), SETTINGS)


def found(made: Rule, scope: Scope = "mpi", **facts: Any) -> tuple[Finding, ...]:
    """Return the findings of a rule on facts; a dot in a name is written with two lines under."""
    env = {**example_facts({name.replace("__", "."): value for name, value in facts.items()}, words().scope), "scope": scope}
    return tuple(finding(asked, origins()) for asked in ask(made, Case(scope=scope), env))
