from typing import Any

import pytest

from advisor.advice.judge.rule import BadExampleFact, example_facts
from advisor.machine.cpuset import CpuSet
from tests.judge.made import words


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"kernel.thp": "always", "kernel.numa_balancing": 1}, {"kernel": {"thp": "always", "numa_balancing": 1}}),
        ({"kernel": {"thp": None}}, {"kernel": {"thp": None}}),
        ({"sockets": [{"index": 0, "cpus": "0-3"}]}, {"sockets": ({"index": 0, "cpus": CpuSet.parse("0-3")},)}),
        ({"kernel.cmdline": "iommu=pt quiet a="}, {"kernel": {"cmdline": (("iommu", "pt"), ("quiet", None), ("a", ""))}}),
        ({"shape.memory": "32 GiB"}, {"shape": {"memory": 32 * 2.0**30}}),
        ({"setting.numa.nps": 4}, {"setting": {"numa": {"nps": 4}}}),
        ({"cpu.vulnerabilities": {"a": "b"}}, {"cpu": {"vulnerabilities": {"a": "b"}}}),
        ({"limits.affinity": 3}, {"limits": {"affinity": CpuSet([3])}}),
    ],
)
def test_facts_become_values(facts: dict[str, Any], expected: dict[str, Any]) -> None:
    """Dotted names nest; sets of CPUs, boot options and units are written as people write them."""
    env = example_facts(facts, words().scope)
    assert {name: value for name, value in env.items() if name != "_steps"} == expected


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"kernl.thp": 1}, "there is no fact kernl.thp; did you mean kernel?"), ({"_steps": 1}, "there is no fact _steps"),
        ({"kernel.thpp": 1}, "did you mean thp?"), ({"kernel.thp": 1}, "kernel.thp must be a text, not '1'"),
        ({"kernel.thp.x": 1}, "a text has no fact x"), ({"sockets.index": 1}, "give the whole list"),
        ({"kernel": None, "kernel.thp": "x"}, "is part of a fact already given"), ({"kernel.cmdline": [1]}, "write one string"),
        ({"kernel.thp": "x", "kernel": {}}, "kernel is given twice"), ({"kernel.irqbalance": 1}, "write true or false"),
        ({"kernel.numa_balancing": True}, "must be a number"), ({"shape.memory": "32 GIB"}, "units are"),
        ({"shape.memory": "nan GiB"}, "must be a number"), ({"limits.affinity": "3-1"}, "runs backwards"),
        ({"cpu.vulnerabilities": {"a": 1}}, "write {name: text}"), ({"setting.numa.npz": 1}, "did you mean nps?"),
        ({"layout.numbering.name": "roundrobin"}, "layout.numbering.name is never 'roundrobin'"), ({"": 1}, "there is no fact"),
        ({"kernel.": 1}, "Kernel has no fact"),
    ],
)  # fmt: skip
def test_a_fact_that_cannot_be_is_refused(facts: dict[str, Any], says: str) -> None:
    """A name that is none, or a value of another kind, is refused with the name it stands under."""
    with pytest.raises(BadExampleFact) as error:
        example_facts(facts, words().scope)
    assert (error.value.name in facts, says in str(error.value)) == (True, True)
