import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from advisor.advice.judge.case import Case
from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import (
    Bytes,
    Celsius,
    Declared,
    Identity,
    Key,
    Number,
    Secrecy,
    Section,
    Unit,
    Volatile,
    comparable,
    declarations,
    identities,
    in_order,
    keys,
    lists_with,
)
from advisor.machine.hardware import Bios, Cpu, Hca, Irq, Port
from advisor.machine.machine import Allocation, Facts, Hugepages, Kernel, Machine
from advisor.machine.value import Value
from docs.declared import declared_at, undeclared, undeclared_facts

ROOT = Path(__file__).parents[2]


class Sensor(Value):
    """A sensor of the board."""

    chip: Key[str] = Field(description="k10temp")
    number: Key[Number] = Field(description="from 1")
    critical: Celsius | None = Field(default=None, description="where the processor slows down")
    now: Volatile[Celsius | None] = Field(default=None, description="as it was read")
    serial: Identity[str | None] = Field(default=None, description="of the chip")


class Board(Value):
    """What a board holds."""

    sensors: Annotated[tuple[Sensor, ...] | None, Section.MACHINE] = None
    steps: tuple[Bytes, ...] | None = Field(default=None, description="sizes")


SENSOR = Sensor(chip="k10temp", number=1, critical=95.0, now=41.5, serial="S17")


def told(value: Value) -> list[tuple[str, object]]:
    """Return what may be compared, by name."""
    return [(fact.name, fact.value) for fact in comparable(value)]


def test_a_declaration_stands_in_the_annotation() -> None:
    """Unit, section and role are read from a field's type, inside of unions and tuples too."""
    assert declarations(Sensor)["critical"] == Declared(unit=Unit("degrees Celsius"))
    assert declarations(Sensor)["now"] == Declared(unit=Unit("degrees Celsius"), volatile=True)
    assert declarations(Sensor)["serial"] == Declared(secrecy=Secrecy.IDENTITY)
    assert declarations(Board)["sensors"] == Declared(section=Section.MACHINE)
    assert declarations(Board)["steps"] == Declared(unit=Unit("bytes"))
    assert keys(Sensor) == ("chip", "number")


def test_neither_identity_nor_what_changes_by_itself_is_compared() -> None:
    """A current temperature and a serial number are no part of what two machines are compared by."""
    assert told(Board(sensors=(SENSOR,))) == [
        ("sensors.k10temp 1.chip", "k10temp"),
        ("sensors.k10temp 1.number", 1),
        ("sensors.k10temp 1.critical", 95.0),
    ]
    assert told(Machine(name="n1", allocation=Allocation(scheduler="slurm", job="7"))) == []
    irqs = (Irq(number=1, cpus=CpuSet([0])),)
    assert told(Machine(hcas=(Hca(name="mlx5_0", irqs=irqs, ports=(Port(number=1, lid=3),)),))) == [
        ("hcas.mlx5_0.name", "mlx5_0"),
        ("hcas.mlx5_0.ports.1.number", 1),
    ]


def test_equal_nodes_are_equal_in_any_order() -> None:
    """Two nodes that differ in name, job and the order of their adapters are comparably the same."""
    one, two = Hca(name="mlx5_0", firmware="1"), Hca(name="mlx5_1", firmware="2")
    a, b = Machine(name="n1", hcas=(one, two)), Machine(name="n2", hcas=(two, one), allocation=Allocation(scheduler="slurm"))
    assert sorted(told(a)) == sorted(told(b))


def test_elements_with_two_keys_are_told_apart() -> None:
    """Two sizes of hugepages on one node are two elements."""
    pages = (Hugepages(node=0, page=2 << 20, count=4), Hugepages(node=0, page=1 << 30, count=1))
    counts = [fact for fact in told(Machine(kernel=Kernel(hugepages=pages))) if fact[0].endswith(".count")]
    assert counts == [("kernel.hugepages.0 2097152.count", 4), ("kernel.hugepages.0 1073741824.count", 1)]


def test_a_fact_inherits_its_section_or_has_its_own() -> None:
    """What a processor is called belongs to the machine, its clocks to the processor."""
    sections = {fact.name: fact.section for fact in comparable(Machine(cpu=Cpu(model_name="EPYC", base_hz=2)))}
    assert sections == {"cpu.model_name": Section.MACHINE, "cpu.base_hz": Section.PROCESSOR}


def test_sections_can_be_left_out() -> None:
    """Of a section that is left out no fact is told."""
    assert list(comparable(Machine(architecture="x86_64", cpu=Cpu(model_name="EPYC")), but=(Section.MACHINE,))) == []


def test_identities_are_found_wherever_they_stand() -> None:
    """What names a machine or a part of it is told, for whoever takes names out."""
    assert list(identities(Machine(name="n1"))) == ["n1"]
    assert list(identities(Board(sensors=(SENSOR, SENSOR.model_copy(update={"serial": None}))))) == ["S17"]


def test_sections_give_the_order() -> None:
    """Facts are shown by section: firmware before the processor, adapters before the operating system, the topology last."""
    names = in_order(Facts)
    wanted = ("name", "firmware", "cpu", "memory", "tiers", "hcas", "kernel", "slurm_conf", "topology")
    assert tuple(name for name in names if name in wanted) == wanted


def test_what_a_declaration_lacks_is_told_in_one_line_each() -> None:
    """No section, no description, no unit, no key: each is a line that names the fact and what to write."""

    class Fan(Value):
        speed: int | None = Field(default=None, description="turns a minute")
        label: str | None = None

    class Bare(Value):
        fans: tuple[Fan, ...] | None = None
        heat: Annotated[dict[str, float] | None, Section.MACHINE] = Field(default=None, description="of each part")
        cooled: Annotated[tuple[Fan, ...], Section.MACHINE] = Field(default=(), description="fans")
        board_serial: Annotated[str | None, Section.MACHINE] = Field(default=None, description="of the board")

    lines = list(undeclared(Bare))
    assert [line.split("; ")[0].split(": ", 2)[2] for line in lines] == [
        "fans: no section",
        "fans: no description",
        "fans[].speed: a number without a unit",
        "fans[].label: no description",
        "heat: a number without a unit",
        "cooled: nothing identifies an element of the list",
        "cooled[].speed: a number without a unit",
        "cooled[].label: no description",
        "board_serial: names one machine",
    ]
    assert [line for line in lines if "\n" in line or not line.startswith("tests/model/test_fact.py: line ")] == []
    assert "fans: tuple" in Path(__file__).read_text().splitlines()[int(lines[0].split()[2].rstrip(":")) - 1]


def test_a_declared_board_lacks_its_section_alone() -> None:
    """What is declared is not complained of."""
    assert [line.split("; ")[0].split(": ", 2)[2] for line in undeclared(Board)] == ["steps: no section"]


def test_every_fact_of_the_machine_is_one_of_the_case() -> None:
    """Rules know every fact, of the same type; what the Case makes beside them has names of its own."""
    same = [name for name, field in Facts.model_fields.items() if Case.model_fields[name].annotation == field.annotation]
    assert same == list(Facts.model_fields)
    assert [name for name in Case.__annotations__ if name in Facts.model_fields] == []


def test_the_document_of_a_machine_is_in_its_old_order() -> None:
    """The version stands first, sources and gaps last."""
    names = list(Machine().model_dump())
    assert (names[0], names[1], names[-2:]) == ("schema_version", "name", ["sources", "gaps"])


def test_lists_are_found_by_what_their_records_have() -> None:
    """Adapters, interfaces, GPUs and PCI devices have a place; processors and tools have none."""
    assert lists_with(Facts, "locality") == ("pci", "hcas", "nics", "gpus")


def named_together(path: Path) -> Iterator[str]:
    """Yield the places of a module where four facts of the Machine stand in one list."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            continue
        parts = node.keys if isinstance(node, ast.Dict) else node.elts
        facts = {part.value for part in parts if isinstance(part, ast.Constant) and part.value in Facts.model_fields}
        if len(facts) >= 4:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


@pytest.mark.slow
def test_no_room_keeps_a_list_of_facts() -> None:
    """A list of facts by hand would lack the next one; topics alone are one like it: of benchmarks, and of audit --show."""
    found = [place for path in sorted((ROOT / "advisor").rglob("*.py")) for place in named_together(path)]
    topics = ("advisor/advice/know/benchmarks.py", "advisor/advice/audit_page/screen.py")
    assert [place for place in found if not place.startswith(topics)] == []


def test_a_list_of_facts_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search sees tuples, lists and keys of dictionaries."""
    monkeypatch.setattr("tests.model.test_fact.ROOT", tmp_path)
    module = tmp_path / "a.py"
    module.write_text('X = ("cpu", "memory", "hcas", "gpus")\nY = {"cpu": 1, "nics": 2, "pci": 3, "dax": 4}\nZ = ["cpu", "a"]\n')
    assert list(named_together(module)) == ["a.py:1", "a.py:2"]


def test_a_fact_of_the_machine_alone_is_named() -> None:
    """A field that was put beside Facts, where rules would not see it, is told in one line."""

    class Later(Machine):
        heat: Annotated[Celsius | None, Section.MACHINE] = Field(default=None, description="of the room")

    (line,) = undeclared_facts(Later)
    assert line.startswith("tests/model/test_fact.py: line ")
    assert line.endswith(": heat: a field of Machine alone, which rules do not know; move it into Facts")


def test_every_fact_has_a_source() -> None:
    """Some module of advisor/machine/sources with SOURCES returns a Machine with it; BIOS attributes alone come from a file."""
    modules = [(path, ast.parse(path.read_text())) for path in sorted((ROOT / "advisor" / "machine" / "sources").rglob("*.py"))]
    asked = [tree for path, tree in modules if re.search(r"^SOURCES = ", path.read_text(), re.MULTILINE)]
    calls = [
        node
        for tree in asked
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Machine", "reader.machine")
    ]
    told = {word.arg for call in calls for word in call.keywords}
    cure = "write it there, and list the module's FactSource in its SOURCES"
    lacking = [name for name in Facts.model_fields if name not in {*told, "bios"}]
    lines = [
        f"{declared_at(Facts, name)}: no module of advisor/machine/sources returns Machine({name}=...); {cure}"
        for name in lacking
    ]
    assert lines == []


def test_tables_of_texts_are_told_entry_by_entry() -> None:
    """Each mitigation is a fact of its own; an entry that is not known is none."""
    mitigations = {"meltdown": "Not affected", "mds": "Mitigation"}
    assert told(Machine(cpu=Cpu(vulnerabilities=mitigations))) == [
        ("cpu.vulnerabilities.meltdown", "Not affected"),
        ("cpu.vulnerabilities.mds", "Mitigation"),
    ]
    assert told(Bios(attributes={"a": None, "b": 1})) == [("attributes.b", 1)]


def test_the_json_schema_says_what_is_declared() -> None:
    """Units and roles stand beside the type, sections at the fact that declares them."""
    schema = Board.model_json_schema()
    sensor = schema["$defs"]["Sensor"]["properties"]
    marks = {name: {key for key in str(field).split("'") if key.startswith("x-")} for name, field in sensor.items()}
    assert marks == {
        "chip": {"x-key"},
        "number": {"x-key", "x-unit"},
        "critical": {"x-unit"},
        "now": {"x-unit", "x-volatile"},
        "serial": {"x-identity"},
    }
    assert schema["properties"]["sensors"]["x-section"] == "machine"
    assert "'x-per-cpu': True" in str(Machine.model_json_schema()["$defs"]["Acpi"]["properties"]["madt"])
