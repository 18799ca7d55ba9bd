"""What each rank of a host sets for itself before its program, its GPU and its adapter: ``sh -c`` in the line, and no file."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.placement import Placement, Slot, devices_differ, kinds
from advisor.machine.machine import Machine

_NUMBER = re.compile(r"(0|[1-9]\d{0,5})", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_.:,/-]+", re.ASCII)
LISTED = "each() { shift $%s; echo $1; }"
"""A shell's function that prints the word of the rank's own number."""
_BOUND = re.compile(r'; exec taskset -c \$\(each ([\d,\- ]{1,65536})\) (?:numactl [^";]*)?"\$@"$', re.ASCII)
_OF_MEMORY = re.compile(r'(?:each\(\) [^"]*?; )?exec (numactl [^";]+)"\$@"', re.ASCII)
"""The shell that gives each rank its memory, as memory_binding writes it."""


LOCAL: Mapping[str, str] = {
    "srun": "SLURM_LOCALID",
    "openmpi4": "OMPI_COMM_WORLD_LOCAL_RANK",
    "openmpi5": "OMPI_COMM_WORLD_LOCAL_RANK",
    "mpich": "MPI_LOCALRANKID",
    "intelmpi": "MPI_LOCALRANKID",
    "pals": "PALS_LOCAL_RANKID",
    "flux": "FLUX_TASK_LOCAL_ID",
}
"""The variable that has a rank's number among those of its host, where the line of the launcher can say what each rank sets."""


def wants_wrapper(placement: Placement, wish: LaunchRequest) -> bool:
    """Whether the wrapper was asked for, or alone can tell ranks their adapters and GPUs: the line itself cannot."""
    return wish.wrap or (devices_differ(placement) and not wish.each)


def command(wish: LaunchRequest, launcher: str, cpus: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command as each rank starts it; with ``cpus`` each binds itself too, to those of its number."""
    if not wish.each:
        return tuple(wish.command)
    bind, words = f"taskset -c {of_list(cpus)} " if cpus else "", tuple(wish.command)
    if words[:2] == ("sh", "-c") and (memory := _OF_MEMORY.fullmatch(words[2])):  # one shell does for both
        bind, words = bind + memory[1], words[4:]
    return ("sh", "-c", f'{shell(wish.each, LOCAL[launcher], listed="$(each " in bind)}; exec {bind}"$@"', "sh", *words)


def listed(words: Sequence[str], cpus: Sequence[str], local: str, *, taskset: bool = False) -> tuple[str, ...]:
    """Return a command that binds itself to the CPUs of its number, by numactl, or by taskset where numbers have gaps."""
    binder = "taskset -c " if taskset else "numactl --localalloc --physcpubind="
    script = f'{LISTED % local}; exec {binder}{of_list(cpus)} "$@"'
    return ("sh", "-c", script, "sh", *words)


def bound(words: Sequence[str], launcher: str) -> tuple[str, ...]:
    """Return the CPUs to which the ranks of a host bind themselves in a command as it is written here; () in any other."""
    script = words[2] if len(words) > 3 and tuple(words[:2]) == ("sh", "-c") else ""
    match = _BOUND.search(script) if launcher in LOCAL and script.startswith(LISTED % LOCAL[launcher]) else None
    return tuple(match[1].split()) if match else ()


def translated(words: Sequence[str], before: str, after: str) -> tuple[str, ...]:
    """Return a program's words with one launcher's number of a rank in place of another's."""
    one, other = LOCAL.get(before), LOCAL.get(after)
    return tuple(re.sub(rf"\b{one}\b", other, word) for word in words) if one and other and one != other else tuple(words)


def shell(each: Mapping[str, Sequence[str]], local: str, *, listed: bool = False) -> str:
    """Return what a shell runs to export some variables, each with the value of its rank; ``listed``: lists follow, too.

    >>> shell({"CUDA_VISIBLE_DEVICES": ("0", "1"), "UCX_NET_DEVICES": ("mlx5_0:1", "mlx5_1:1")}, "SLURM_LOCALID")
    'export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID UCX_NET_DEVICES=mlx5_$SLURM_LOCALID:1'
    >>> shell({"CUDA_VISIBLE_DEVICES": ("2", "0", "1")}, "SLURM_LOCALID")
    'each() { shift $SLURM_LOCALID; echo $1; }; export CUDA_VISIBLE_DEVICES=$(each 2 0 1)'
    """
    words = {name: _by_number(values, local) or of_list(values) for name, values in each.items()}
    listed = listed or any("$(each " in word for word in words.values())
    exported = f"export {' '.join(f'{name}={word}' for name, word in words.items())}"
    return f"{LISTED % local}; {exported}" if listed else exported


def of_list(values: Sequence[str]) -> str:
    """Return the word that is the value of a rank, behind LISTED."""
    return f"$(each {' '.join(values)})"


def sayable(values: Sequence[str]) -> bool:
    """Return whether a shell takes values as they are."""
    return all(_PLAIN.fullmatch(value) for value in values)


def _by_number(values: Sequence[str], local: str) -> str | None:
    """Return the value as a shell makes it of the rank's number; None where no short sum does."""
    if len(set(values)) == 1:
        return values[0]
    words = [_NUMBER.split(value) for value in values]
    differ = [at for at, each in enumerate(zip(*words, strict=False)) if len(set(each)) > 1]
    if len({len(each) for each in words}) > 1 or len(differ) != 1 or differ[0] % 2 == 0:
        return None
    before, after = "".join(words[0][: differ[0]]), "".join(words[0][differ[0] + 1 :])
    numbers = [int(each[differ[0]]) for each in words]
    for word, made in _sums(len(values), local):
        if made == numbers:
            name = word.startswith("$((") or not re.match(r"\w", after)
            return f"{before}{word if name else f'${{{word[1:]}}}'}{after}"
    return None


def _sums(ranks: int, local: str) -> Iterator[tuple[str, list[int]]]:
    """Yield sums over a rank's number that people write, and what they give."""
    yield f"${local}", list(range(ranks))
    yield f"$(({ranks - 1}-{local}))", list(range(ranks - 1, -1, -1))
    for each in range(2, ranks):
        yield f"$(({local}/{each}))", [rank // each for rank in range(ranks)]
        yield f"$(({local}%{each}))", [rank % each for rank in range(ranks)]
        if ranks % each == 0:
            most = ranks // each - 1
            yield f"$(({most}-{local}/{each}))", [most - rank // each for rank in range(ranks)]


_NUMBERS = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "ROCR_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK"}
"""What shows a process some GPUs only, by their numbers. Unlike a cgroup it leaves others' memory within reach (CUDA IPC)."""
_ORDERED = {"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE", "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"}
"""How Level Zero numbers cards, by their addresses and not by their tiles (its programming guide, environment variables)."""


def chosen(placement: Placement, machines: Sequence[Machine]) -> tuple[dict[str, tuple[str, ...]], int]:
    """Return the values that differ among the ranks of a host, and how many GPUs it has where they choose."""
    gpus = _of_gpus(placement, machines)
    there = max((len(numbered_gpus(machine)) for machine in machines), default=0) if gpus != {} else 0
    values = _values(None if gpus is None else {**gpus, **_of_adapters(placement)}, placement)
    return values, there


def numbered_gpus(machine: Machine) -> dict[str, tuple[str, int]]:
    """Return the variable and the number of each GPU in its runtime: as its driver counts, or by address."""
    found: dict[str, tuple[str, int]] = {}
    for vendor, variable in _NUMBERS.items():
        cards = [gpu for gpu in machine.gpus or () if gpu.vendor == vendor]
        told = len({gpu.index for gpu in cards} - {None}) == len(cards)
        found |= {gpu.address: (variable, gpu.index if told and gpu.index is not None else at) for at, gpu in enumerate(cards)}
    return found


def _of_gpus(placement: Placement, machines: Sequence[Machine]) -> dict[str, list[list[str]]] | None:
    """Return the variables that name each rank's GPU, of every kind of host; {} where none need be named, None where none can."""
    tables = [numbered_gpus(machine) for machine in machines]
    slots = [placement.plans[plan].slots[:ranks] for plan, ranks in kinds(placement).items()]
    if not any(slot.gpu for own in slots for slot in own) or all(len(table) == 1 for table in tables):
        return {}
    names: set[str] = set()
    numbers: list[list[str]] = []
    for own in slots:
        told = [{table[slot.gpu or ""] for table in tables if (slot.gpu or "") in table} for slot in own]
        tiles = _tiles(own, machines)
        if any(len(each) != 1 for each in told):  # MIG instances have no number; a rank without a GPU would see all
            return None
        names |= {variable for each in told for variable, _ in each}
        numbers.append([f"{number}{tile}" for each, tile in zip(told, tiles, strict=True) for _, number in each])
    if len(names) != 1:
        return None
    name = names.pop()
    fixed = _ORDERED if name == "ZE_AFFINITY_MASK" else {}
    return {name: numbers} | {other: [[value] * len(own) for own in slots] for other, value in fixed.items()}


def _tiles(slots: Sequence[Slot], machines: Sequence[Machine]) -> list[str]:
    """Return what follows the number of each rank's GPU: .0 and .1 where ranks share one that has as many tiles, else nothing."""
    counts = {gpu.tiles for machine in machines for gpu in machine.gpus or ()}
    tiles = counts.pop() if len(counts) == 1 else None
    each, seen = Counter(slot.gpu for slot in slots), Counter[str | None]()
    if tiles is None or tiles < 2 or set(each.values()) != {tiles}:
        return [""] * len(slots)
    found = []
    for slot in slots:
        found.append(f".{seen[slot.gpu]}")
        seen[slot.gpu] += 1
    return found


def _of_adapters(placement: Placement) -> dict[str, list[list[str]]]:
    """Return UCX's variable, of every kind of host, where each rank has an adapter and they differ."""
    slots = [placement.plans[plan].slots[:ranks] for plan, ranks in kinds(placement).items()]
    hcas = [[slot.hca or "" for slot in own] for own in slots]
    several = len({hca for own in hcas for hca in own}) > 1
    return {"UCX_NET_DEVICES": hcas} if several and all(hca for own in hcas for hca in own) else {}


def _values(own: Mapping[str, Sequence[Sequence[str]]] | None, placement: Placement) -> dict[str, tuple[str, ...]]:
    """Return the values of local ranks that are right on every kind of host; {} where hosts differ in them."""
    found: dict[str, tuple[str, ...]] = {}
    for name, kinds_of_host in (own or {}).items():
        longest = max(kinds_of_host, key=len)
        if any(list(values) != list(longest[: len(values)]) for values in kinds_of_host) or not sayable(longest):
            return {}
        found[name] = tuple(longest)
    hcas = {slot.hca for plan, ranks in kinds(placement).items() for slot in placement.plans[plan].slots[:ranks]}
    return {} if len(hcas) > 1 and "UCX_NET_DEVICES" not in found else found
