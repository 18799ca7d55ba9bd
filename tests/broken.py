"""Every reader of what people bring, with whole inputs of its kind and ways to break them: a machine, or one line, comes out.

``python -m tests.broken 100000`` tries that many: inputs of a machine, which are shown too, and those of the other readers.
"""

import json
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, Final

from advisor.advice.bios_files import firmware_from
from advisor.advice.imported import import_files
from advisor.bios.experiment import experiment_status
from advisor.bios.stage import load_record
from advisor.errors import AdvisorError
from advisor.exports.export import saved_audit
from advisor.exports.slurm_check import text_of
from advisor.fleet.fleet import ANSWERS, Answer
from advisor.fleet.golden import SCHEMA, Golden, GoldenKind, golden_in, golden_text
from advisor.fleet.read import asked
from advisor.jobs.lint import lint_line
from advisor.jobs.racing.race import kept_race
from advisor.jobs.racing.result import read_learned
from advisor.jobs.started.hosts import hostfile, plan_in
from advisor.machine.hosts.errands import Outcome
from advisor.machine.hosts.files import FILE
from advisor.machine.machine import Machine
from advisor.machine.slurm import names_of, read_slurm_conf
from advisor.measure.task import read_measurements
from advisor.sheets import read_sheet
from tests import test_fuzz as machines

HERE: Final = Path(__file__).parent
SECONDS: Final = 20.0
ODD: Final[tuple[Any, ...]] = (
    None, -1, 0, 1, 1.5, 1 << 20, 1 << 64, 1e308, float("nan"), float("inf"), "",
    "0-1048575", "3", "\x1b[2J\x07", "\u202e", "\ud800", True, [], {},
    [None], [[0, 1], [1, 0]], {"a": []}, "x" * 9999, "[bold]x", "a=b", "-x", ["a", 1],
)  # fmt: skip
"""What a value of JSON is swapped for."""


@dataclass(frozen=True)
class Reader:
    """How one kind of file is read, and whole files of it."""

    read: Callable[[Path], object]
    whole: Callable[[], list[bytes]]
    name: str = "input"
    """What the file is called in its folder, which is what some readers take."""


def broken(whole: bytes, dice: Random) -> bytes:
    """Return an input with values of its JSON swapped, doubled or gone, or with other bytes."""
    try:
        lines = [json.loads(line) for line in whole.splitlines()] if whole.startswith(b'{"') else []
    except ValueError:
        lines = []
    try:
        values = lines or ([json.loads(whole)] if whole.lstrip().startswith(b"{") else [])
    except ValueError:
        values = []
    if not values or dice.random() < 0.3:
        return machines.mangled(whole, dice)
    for _ in range(dice.choice((1, 1, 2, 5))):
        value = dice.choice(values)
        places = list(_places(value))
        if places:
            holder, key = dice.choice(places)
            if isinstance(holder, dict) and dice.random() < 0.2:
                holder.pop(key)
            else:
                holder[key] = deepcopy(dice.choice((*ODD, dice.choice(places)[1])))
    return b"\n".join(json.dumps(value).encode() for value in values) + b"\n"


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


@cache
def small_machine() -> Machine:
    """Return the machine on which launch lines are read."""
    return Machine.model_validate_json(machines.machine_json())


def _race() -> list[bytes]:
    identity = {"name": "n1", "cpu": "x", "cpus": 8, "nodes": ["0-3", "4-7"]}
    lines = [{"name": name, "line": f"OMP_NUM_THREADS=2 mpirun -n 4 {name} ./app"} for name in ("yours", "spread", "packed")]
    head = {"schema": "advisor-tune-journal/1", "advisor": "0", "started": "2026-01-01T00:00:00+00:00",
            "asked": {"metric": None, "metric_file": None, "better": None}, "seed": 7, "worth": 0.02, "machine": identity,
            "candidates": lines}  # fmt: skip
    runs: list[dict[str, Any]] = [
        {"block": block, "candidate": line, "figure": 1 + line / 9 + block / 999, "seconds": 1.1, "at": block * 4.0 + line,
         "why": None, "timed_out": False, "attempt": 1, "busy": []}
        for block in range(12)
        for line in range(3)
    ]  # fmt: skip
    return [_lines(head, *runs)]


def _experiment() -> list[bytes]:
    from tests.bios.server import STATES, begin, go, plan
    from tests.bios.server import Machine as Server

    with tempfile.TemporaryDirectory() as folder:
        begin(Path(folder), plan())
        go(Path(folder), plan(), Server(states=STATES))
        return [(Path(folder) / FILE).read_bytes()]


def _lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def _answers() -> list[bytes]:
    outcomes = [Answer(node=f"n{at}", at="2026-01-31T06:10:00Z", outcome=each, why="ssh: no") for at, each in enumerate(Outcome)]
    return [b"".join(each.line() for each in outcomes)]


def _measurements() -> list[bytes]:
    from tests.render.measurements import whole

    every = whole()
    few = every.model_copy(update={"results": every.results[::40], "kernels": every.kernels[:2]})
    return [few.model_dump_json().encode()]


def _plans() -> list[bytes]:
    ranks = [{"rank": rank, "host": "n1", "local": rank, "cpus": str(rank), "memory": "0", "nodes": [0]} for rank in range(6)]
    folded = {
        "schema": "advisor-plan/2",
        "nodes": [{"slots": [{"cpus": "0-3", "numa_nodes": [0], "memory": [0]}, {"cpus": "4-7"}]}],
        "hosts": [{"names": ["n[1-3]"], "node": 0, "ranks": "0-5"}],
    }
    return [json.dumps({"schema": "advisor-plan/1", "ranks": ranks}).encode(), json.dumps(folded).encode()]


def _firmware() -> list[bytes]:
    from tests.collect.test_bios_registry import AMI

    kept = [json.loads(path.read_text()) for path in sorted((HERE / "bios" / "fixtures").glob("*.json"))]
    attributes = [{"Attributes": each["attributes"]} for each in kept]
    resources = [*attributes, *(each["registry"] for each in kept)]
    bios = {"@odata.id": "/redfish/v1/Systems/1/Bios", "Attributes": {"ProcHyperthreading": "Disabled", "Bus": 3, "A": True}}
    read = {"schema": "advisor-bios/1", "bios": bios, "settings": bios, "registry": AMI, "owner": {}}
    return [json.dumps(each).encode() for each in (AMI, bios, read, *resources)]


def _records() -> list[bytes]:
    record: dict[str, Any] = {
        "format": "advisor-bios-record/1", "at": "2026-01-01T00:00:00Z", "bmc": "bmc1", "verified": "x", "owner": {},
        "registry": "r",
        "applied": {"A": "1"}, "asked": {"A": "2"}, "moves": {"B": None}, "vendor": "dell", "platform": None, "by_hand": [],
    }  # fmt: skip
    return [json.dumps(record).encode()]


def _learned() -> list[bytes]:
    value = {"program": "app", "machine": {"cpus": 8}, "job": {"ranks": 4}, "name": "spread", "faster": 0.1, "baseline": "mpirun",
             "runs": 9, "date": "2026-01-01"}  # fmt: skip
    return [json.dumps(value).encode()]


def _audits() -> list[bytes]:
    from advisor.advice.audit import audit_document
    from advisor.advice.judgement import judged
    from advisor.machine.partitioning import infer_layout

    machine = small_machine()
    document = audit_document(machine, infer_layout(machine), judged(machine).audit)
    return [json.dumps({key: value[:9] if isinstance(value, list) else value for key, value in document.items()}).encode()]


def _goldens() -> list[bytes]:
    kind = GoldenKind(hardware="Dell", nodes="n[1-4]", accepted=("os-thp",), facts={"kernel.thp": "always", "cores": "8"})
    return [golden_text(Golden(format=SCHEMA, at="2026-01-01T00:00:00Z", kinds={"epyc-2s-ab12": kind})).encode()]


LINES: Final = (
    "mpirun -n 4 --map-by ppr:2:numa:PE=2 --bind-to core -x OMP_NUM_THREADS=2 --host n1:2,n2:2 ./app",
    "OMP_NUM_THREADS=2 mpirun --mca btl ^tcp --cpu-set 0,2-5 --report-bindings -np 4 numactl -m 0 ./app : -np 2 ./b",
    "srun -N2 -n8 -c 4 --cpu-bind=mask_cpu:0xf,0xf0 --distribution=block:cyclic --hint=nomultithread --export=ALL,A=b ./app",
    "mpiexec.hydra -n 4 -ppn 2 -genv I_MPI_PIN_DOMAIN omp -genv I_MPI_PIN_ORDER scatter -bind-to core:2 -map-by numa ./app",
    "env MV2_CPU_MAPPING=0:2:4:6 mpirun_rsh -np 4 n1 n1 n2 n2 MV2_ENABLE_AFFINITY=1 ./app",
    "flux run -n4 -c2 -o cpu-affinity=per-task -o gpu-affinity=off ./app",
    "aprun -n 8 -N 4 -d 2 -cc 0,1:2,3 -ss ./app", "jsrun -n 4 -a 2 -c 8 -g 1 -b packed:4 -d packed ./app",
    "likwid-mpirun -np 4 -pin S0:0-3_S1:0-3 ./app", "mpirun --rankfile ranks --np 2 ./app",
    "qsub -pe mpi 4 -binding linear:4 ./app",
)  # fmt: skip

READERS: Final[dict[str, Reader]] = {
    "measurements": Reader(lambda file: read_measurements([file]), _measurements),
    "import": Reader(lambda file: import_files([file]), lambda: _files("imports/outputs")),
    "race": Reader(lambda file: kept_race(file.parent, small_machine()), _race, FILE),
    "experiment": Reader(lambda file: experiment_status(file.parent), _experiment, FILE),
    "bios": Reader(lambda file: firmware_from([file]), _firmware),
    "record": Reader(load_record, _records),
    "plan": Reader(lambda file: plan_in(str(file)), _plans),
    "learned": Reader(read_learned, _learned),
    "answers": Reader(lambda file: asked([file.parent]), _answers, ANSWERS),
    "golden": Reader(golden_in, _goldens),
    "audit": Reader(lambda file: saved_audit(str(file)), _audits),
    "hostfile": Reader(hostfile, lambda: [b"n1 slots=4\nn2:8\n# no\nn[3-9,12]\n", b"n1:4\nn1\nn1\n"]),
    "slurm.conf": Reader(
        lambda file: [names_of(node) for node in read_slurm_conf(str(file), text_of).nodes],
        lambda: [b"ClusterName=x\nNodeName=n[1-9] CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 \\\n Gres=gpu:4\n"],
    ),
    "sheet": Reader(
        read_sheet,
        lambda: [each for each in (*_files("../rules"), *_files("../rules/vendors")) if b"```" not in each],
    ),
    "line": Reader(lambda file: lint_line(_words(file), small_machine()), lambda: [line.encode() for line in LINES]),
}
"""Each kind of file that people bring beside machines, and what reads it."""


def _files(folder: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((HERE / folder).iterdir()) if path.is_file()]


def _words(file: Path) -> list[str]:
    text = file.read_bytes().decode("utf-8", "surrogateescape").replace("\0", "")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


@cache
def whole(kind: str) -> tuple[bytes, ...]:
    """Return whole inputs of a kind."""
    return tuple(READERS[kind].whole())


def outcome(kind: str, seed: int, folder: Path) -> str:
    """Return what becomes of one broken input: read, or the class of its error."""
    dice = Random(f"{kind} {seed}")  # noqa: S311
    reader = READERS[kind]
    place = folder / kind
    place.mkdir(exist_ok=True)
    file = place / reader.name
    file.write_bytes(broken(dice.choice(whole(kind)), dice))
    begun = process_time()
    try:
        reader.read(file)
        ending = "read"
    except AdvisorError as error:
        ending = f"{type(error).__name__}: {error}"
    assert process_time() - begun < SECONDS
    assert ending.isprintable(), ascii(ending)
    return ending


def tried(count: int, start: int = 0) -> tuple[Counter[str], list[str]]:
    """Return how many inputs ended in which way, and a line for each that ended in a traceback."""
    endings: Counter[str] = Counter()
    bad: list[str] = []
    cheap = [*READERS, "json"]  # a machine takes fifty times as long: it is drawn and judged too
    kinds = [*machines.KINDS, *cheap * 15]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for at in range(start, start + count):
            kind = kinds[at % len(kinds)]
            try:
                if kind in machines.KINDS:
                    machines.run(kind, range(10_000 + at, 10_001 + at), folder)
                    endings["machine"] += 1
                else:
                    endings[f"{kind}: {outcome(kind, at, folder).partition(':')[0]}"] += 1
            except Exception as error:  # noqa: BLE001 - what it looks for
                bad.append(f"{kind} {at}: {type(error).__name__}: {str(error)[:200]}")
                sys.stderr.write(bad[-1] + "\n")
    return endings, bad


if __name__ == "__main__":
    found, wrong = tried(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    sys.stdout.write(f"{sum(found.values()) + len(wrong)} inputs, {len(wrong)} tracebacks\n")
    sys.stdout.write("".join(f"  {many:7} {name}\n" for name, many in sorted(found.items())))
    raise SystemExit(bool(wrong))
