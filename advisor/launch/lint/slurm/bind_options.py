"""What a line of srun says of binding: --cpu-bind, --hint, -B and --mem-bind, and which of them counts beside the others.

Written from what Slurm 22.05.8 was seen to do (tests/launch/lint/seen_srun.txt).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear
from advisor.launch.lint.slurm.node import Entity
from advisor.launch.lint.slurm.task_affinity import Step

ENTITIES: dict[str, Entity | None] = {"": None, "threads": "threads", "cores": "cores", "sockets": "sockets", "ldoms": "ldoms"}
BY_CORE = ("compute_bound", "memory_bound")
Shaped = tuple[int | None, int | None, int | None]
"""Sockets of a node, cores of a socket and threads of a core, None where they are not said."""
_SPELT = {"no": "none", "mapcpu": "map_cpu", "maskcpu": "mask_cpu", "mapldom": "map_ldom", "maskldom": "mask_ldom"}
_PLAIN = frozenset({"none", "rank", "rank_ldom"})
_LISTS = frozenset({"map_cpu", "mask_cpu", "map_ldom", "mask_ldom"})
_VALUE = re.compile("[0-9].*|[0-9a-fA-F]*")


def number_of(said: Mapping[str, str], option: str) -> int | None:
    """Return the number of an option, None where it is not said."""
    text = said.get(option)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,8}", text, re.ASCII) or not int(text):
        raise Unclear(f"{option} {text[:40]} is not a number")
    return int(text)


def cpu_bind(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what --cpu-bind says: "", none, rank, an entity, or the name of a list and its entries.

    Of several words the last counts, and an entity only where nothing else says which CPUs.
    """
    entity, other, listed = "", "", ""
    for word in _words(text):
        name, colon, rest = _cut(word)
        name = _SPELT.get(name.lower(), name.lower())
        if name in ("q", "quiet", "v", "verbose", ""):
            continue
        if name == "one_thread":
            raise Unclear("which thread of each core --cpu-bind=one_thread gives, is not worked out here")
        name = f"{name}s" if f"{name}s" in ENTITIES else name
        if name in ENTITIES and not colon:
            entity = name
        elif name in _LISTS or (name in _PLAIN and not colon):
            other, listed = name, rest
        else:
            raise Refused(f"unrecognized --cpu-bind argument {text[:40]!a}")
    return other or entity, tuple(_repeated(listed)) if listed else ()


def _cut(word: str) -> tuple[str, str, str]:
    """Return the name, the sign and the list of a word; = is a sign too."""
    return word.partition(min(":=", key=lambda sign: word.find(sign) % (len(word) + 1)))


def _words(text: str) -> list[str]:
    """Return the words between commas; what looks like a number, or is empty, goes on the word before."""
    found: list[str] = []
    for word in text.split(","):
        if found and _VALUE.fullmatch(word):
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found


def _repeated(listed: str) -> Iterator[str]:
    made = 0
    for word in filter(None, listed.split(",")):
        entry, star, times = word.partition("*")
        if star and not re.fullmatch(r"\d{1,6}", times, re.ASCII):
            raise Refused(f"{word[:40]!a} is not an entry of a list")
        for _ in range(min(int(times) if star else 1, MOST_RANKS)):
            made += 1
            if made > MOST_RANKS:
                return
            yield entry


def hint(said: Mapping[str, str]) -> str:
    """Return the --hint that counts: none beside -B, which says more; of several, nomultithread."""
    if "--extra-node-info" in said:
        return ""
    words = said.get("--hint", "").lower().split(",")
    return "nomultithread" if "nomultithread" in words else words[-1]


def hinted(said: Mapping[str, str], bind: str, step: Step) -> tuple[str, Step]:
    """Return the binding and the step as --hint and -B change them.

    A hint counts only where nothing else is said of threads, and is not even read where it does not count; nor does -B bind
    beside --threads-per-core, even where its own threads are what counts.
    """
    if bind or step.used or "--threads-per-core" in said:
        return bind or "threads", step
    if (word := levels(said)[0] or ("cores" if step.per_core else "")) or "--hint" not in said:
        return word or ("sockets" if step.per_socket else ""), step
    words = said["--hint"].lower().split(",")
    for each in words:
        if each not in ("nomultithread", "multithread", *BY_CORE):
            raise Refused(f"unrecognized --hint argument {each[:40]!a}")
    if len(words) > 1 and "nomultithread" not in words:
        raise Unclear(f"--hint={said['--hint'][:40]} is not worked out here")
    word = hint(said)
    return "cores" if word in BY_CORE else "threads", replace(step, used=1) if word == "nomultithread" else step


def levels(said: Mapping[str, str]) -> tuple[str, Shaped]:
    """Return what -B, --extra-node-info=sockets:cores:threads, binds tasks to, and its numbers.

    In a step of 22.05 its sockets and cores are not asked for: those of the job are what there is. (Observed.)
    """
    text = said.get("--extra-node-info")
    if text is None:
        return "", (None, None, None)
    words = text.split(":")
    if len(words) > 3 or not all(re.fullmatch(r"\d{1,5}|\*", word, re.ASCII) for word in words):
        raise Unclear(f"what --extra-node-info={text[:40]} asks for is not worked out here")
    if "0" in (word.lstrip("0") or "0" for word in words):
        raise Refused(f"--extra-node-info={text[:40]} asks for none of something; nothing starts")
    numbers = [int(word) if word != "*" else None for word in words] + [None, None]
    return ("sockets", "cores", "threads")[len(words) - 1], (numbers[0], numbers[1], numbers[2])


def mem_bind(text: str, tasks: int, nodes: int) -> None:
    """Raise Refused where --mem-bind is not read, or names a NUMA node beyond the last for one of the tasks of a node."""
    plain = re.sub(r"^(?:(?:quiet|q|verbose|v|prefer|p|nosort|sort)(?:,|$))+", "", text.lower())
    kind, colon, listed = plain.partition(":")
    pattern = {"map_mem": r"\d{1,7}", "mask_mem": r"(0x)?[0-9a-f]{1,64}"}.get(kind)
    if (kind not in ("", "none", "no", "n", "local", "rank") or colon) and not (pattern and listed):
        raise Refused(f"unrecognized --mem-bind argument {text[:40]!a}")
    entries = list(_repeated(listed))[:tasks] if pattern else []
    if not all(re.fullmatch(pattern or "", entry, re.ASCII) for entry in entries):
        raise Unclear(f"--mem-bind={text[:40]} is not worked out here")
    if (pattern or kind == "rank") and not nodes:
        raise Unclear("which NUMA nodes the machine has, for --mem-bind, is not known")
    wanted = [int(entry) if kind == "map_mem" else int(entry, 16).bit_length() - 1 for entry in entries]
    if any(number >= nodes for number in (range(tasks) if kind == "rank" else wanted)):
        raise Refused(f"--mem-bind names a NUMA node beyond the last of {nodes}: a task ends before it begins")
