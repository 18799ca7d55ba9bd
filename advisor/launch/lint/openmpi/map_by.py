"""The values of --map-by, --bind-to and --rank-by as Open MPI 4 and 5 take them apart: each shortens words in its own way."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from advisor.launch.lint.line import Line

_LEVELS = {"socket": "package", "skt": "package", "thread": "hwthread"}
_MOST = 1 << 24
_FOUR = ("slot", "node", "seq", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "board", "hwthread", "dist")
_FIVE = ("slot", "node", "seq", "core", "l1cache", "l2cache", "l3cache", "numa", "package", "rankfile", "hwthread", "pe-list")
_FIVE_BIND = ("none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package")
_FOUR_BIND = frozenset({"none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "board"})
_PPR_FOUR = ("node", "hwthread", "thread", "core", "socket", "skt", "l1cache", "l2cache", "l3cache", "numa")
_PPR_FIVE = ("node", "hwthread", "thread", "core", "package", "skt", "socket", "numa", "l1cache", "l2cache", "l3cache")
_DEVICE = re.compile(r"(?:ppr:(\d{1,6}):)?device=([A-Za-z0-9_.-]{1,64})((?::[^:]*)*)", re.ASCII | re.IGNORECASE)
_QUALIFIERS = ("span", "oversubscribe", "nooversubscribe", "nolocal", "ordered", "inherit", "noinherit", "hwtcpus", "corecpus")


@dataclass(frozen=True)
class Mapped:
    """What the value of --map-by says."""

    level: str | None = None
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    rankfile: str | None = None
    modifiers: frozenset[str] = frozenset()
    fault: str | None = None
    """What the version finds wrong in it; nothing starts."""
    device: str | None = None
    devices_each: int = 1
    """How many devices a rank has of those that are mapped by."""


@dataclass(frozen=True)
class Bound:
    """What the value of --bind-to says."""

    kind: str | None = None
    overload: bool = False
    ordered: bool = False
    fault: str | None = None


def number(text: str | None) -> int | None:
    """Return a count that a line gives; None of anything else."""
    match = re.fullmatch(r"\d{1,8}", text or "", re.ASCII)
    return int(text or "0") if match and 0 < int(text or "0") <= _MOST else None


def counted(text: str | None) -> int | None:
    """Return a number of ranks; one that is too great to be worked out stays a great one, and 0 is as if it were not said."""
    digits = text is not None and text.isascii() and text.isdigit() and text.strip("0")
    return (number(text) or _MOST) if digits else None


def level_of(word: str) -> str:
    """Return the name that things have here."""
    return _LEVELS.get(word, word)


def newer(line: Line) -> bool:
    """Whether a line is for a PRRTE beyond 3.0: its version says so, or it has words that only such a one takes."""
    if line.family != "openmpi5" or line.release is not None:
        return line.family == "openmpi5" and line.release is not None and line.release >= (5, 1, 0)
    values = [said.values for said in line.options if said.values]
    if any("device=" in each[-1] or each[0] == "mapby" for each in values):
        return True
    if line.words.launcher not in ("prterun", "prun"):
        return False  # 5.0's mpirun takes such a line too, and passes over what later programs say, or refuses it
    own = ("--map-by", "--rank-by", "--bind-to")
    return sum(any(said.name in own for said in segment.options) for segment in line.segments) > 1


def mapped(text: str | None, *, five: bool, devices: bool = False) -> Mapped:
    """Return what a --map-by says: ``ppr:2:socket:PE=2``, ``rankfile:file=F``, ``:OVERSUBSCRIBE``, ``device=gpu``."""
    if not text:
        return Mapped()
    if devices and (match := _DEVICE.fullmatch(text)):
        made = _qualifiers5([word for word in (match[3] or "").split(":") if word], ("interleave", "shared", *_QUALIFIERS))
        ppr = (number(match[1]) or 1, "device") if match[1] else None
        return replace(made, level="ppr" if ppr else "device", ppr=ppr, device=match[2])
    return _five(text) if five else _four(text)


def _begins(word: str, known: Sequence[str]) -> str | None:
    """Return the first known word that begins with one: what strncasecmp does with the length of what was written."""
    return next((each for each in known if word and each.startswith(word.lower())), None)


def _alike(word: str, known: Sequence[str]) -> str | None:
    """Return the first known word that is the same as far as both go."""
    low = word.lower()
    return next((each for each in known if low and (each.startswith(low) or low.startswith(each))), None)


def _four(text: str) -> Mapped:
    head, colon, rest = text.partition(":")
    if colon and not rest:
        return Mapped(level=level_of(head.lower()) or None, fault="a colon with nothing behind it makes 4.1 die")
    if colon and not head:
        made = _modifiers4(rest)
        return made if isinstance(made, Mapped) else Mapped()  # modifiers alone that it does not know are passed over
    if colon and "ppr".startswith(head.lower()):
        return _ppr4(text, rest)
    more = _modifiers4(rest) if colon else Mapped()
    if not isinstance(more, Mapped):
        return Mapped(level=level_of(head.lower()), fault=more)
    level = _begins(head, _FOUR)
    if level is None or level == "board":
        return Mapped(level=level_of(head.lower()), fault=f"Open MPI 4 maps by no {head[:40]}")
    return Mapped(level_of(level), None, more.pe, None, None, more.modifiers)


def _ppr4(text: str, rest: str) -> Mapped:
    """Read a pattern: what stands behind it are modifiers, and those that it does not know it passes over."""
    words = rest.split(":")
    kind = _begins(words[1], _PPR_FOUR) if len(words) > 1 else None
    if kind is None or "," in words[0]:
        return Mapped(
            level="ppr", ppr=(1, words[1].lower() if len(words) > 1 else ""), fault=f"{text[:60]} is not a pattern that it knows"
        )
    each = number(words[0]) or 0
    made = _modifiers_of_ppr(":".join(words[2:]))
    fault = made.fault or (None if each else f"{text[:60]} maps no rank")
    if len(words) == 3 and not words[2]:
        fault = "a colon with nothing behind it makes 4.1 die"
    return Mapped("ppr", (each or 1, level_of(kind)), made.pe, None, None, made.modifiers, fault)


def _modifiers_of_ppr(text: str) -> Mapped:
    """Return the modifiers up to the first that is none: behind a pattern 4.1 says nothing of those."""
    pe: int | None = None
    found: set[str] = set()
    for word in [each for each in text.split(",") if each]:
        if word.lower().startswith("pe"):
            name, equals, value = word.partition("=")
            if not equals:
                return Mapped(fault=f"{name[:40]} gives no number of cores")
            match = re.match(r"\s*(\d{1,8})", value, re.ASCII)
            pe = (int(match[1]) or None) if match else None
        elif (known := _begins(word, ("span", "oversubscribe", "nooversubscribe"))) is not None:
            found.add(known)
        else:
            break
    return Mapped(pe=pe, modifiers=frozenset(found))


def _modifiers4(text: str) -> Mapped | str:
    """Return the modifiers, or what is wrong with them; after a number everything else of the word is lost."""
    pe: int | None = None
    found: set[str] = set()
    for word in [each for each in text.split(",") if each]:
        low = word.lower()
        if low.startswith("pe"):
            value = re.match(r"pe[^=]*=\s*(\d{1,8})", low, re.ASCII)
            if value is None or not int(value[1]):
                return f"{word[:40]} gives no number of cores"
            pe = int(value[1])
        elif (known := _begins(word, ("span", "oversubscribe", "nooversubscribe"))) is not None:
            found.add(known)
        else:
            return f"it has no modifier {word[:40]}"
    return Mapped(pe=pe, modifiers=frozenset(found))


def _five(text: str) -> Mapped:
    parts = text.split(":")
    head = parts[0]
    ppr: tuple[int, str] | None = None
    rest = parts[1:]
    fault: str | None = None
    if head.lower() == "ppr":
        kind = _begins(parts[2], _PPR_FIVE) if len(parts) > 2 and parts[2] else None
        whole = len(parts) > 2 and re.fullmatch(r"\d{1,8}", parts[1], re.ASCII)
        ppr = (number(parts[1] if len(parts) > 1 else "") or 1, level_of(kind or (parts[2].lower() if len(parts) > 2 else "")))
        fault = None if kind and whole else f"{text[:60]} is not a pattern that it knows"
        fault = fault or (None if number(parts[1]) else f"{text[:60]} maps no rank")
        rest = parts[3:]
    made = _qualifiers5([word for word in rest if word])
    if head.lower().startswith("pe-list="):
        return Mapped("pe-list", None, made.pe, head[8:], made.rankfile, made.modifiers, fault or made.fault or _listed(head[8:]))
    level = "ppr" if ppr else _alike("package" if head.lower() == "socket" else head, _FIVE) if head else None
    if head and level is None:
        fault = f"Open MPI 5 maps by no {head[:40]}"
        level = level_of(head.partition(",")[0].lower())
    if level == "rankfile" and not made.rankfile:
        fault = fault or "the rankfile has no file="
    if made.pe is not None and level in ("seq", "rankfile"):
        fault = fault or f"{level} takes no PE="
    return Mapped(level, ppr, made.pe, None, made.rankfile, made.modifiers, fault or made.fault)


def _listed(text: str) -> str | None:
    ok = re.fullmatch(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", text, re.ASCII)
    return None if ok else f"{text[:60]} is not a list of cores"


def _qualifiers5(words: Sequence[str], others: Sequence[str] = _QUALIFIERS) -> Mapped:
    devices = 1
    pe: int | None = None
    file: str | None = None
    found: set[str] = set()
    fault: str | None = None
    for word in words:
        low = word.lower()
        if low.startswith("pe="):
            pe = number(word[3:])
            fault = fault or (None if pe else f"{word[:40]} gives no number of cores")
        elif low.startswith("file="):
            file = word[5:]
        elif low.startswith("ndev=") and others is not _QUALIFIERS:
            devices = number(word[5:]) or 1
        elif (known := _alike(low, others)) is not None:
            found.add(known)
        else:
            fault = fault or f"it has no modifier {word[:40]}"
    if {"oversubscribe", "nooversubscribe"} <= found or {"hwtcpus", "corecpus"} <= found:
        fault = fault or "two modifiers contradict each other"
    return Mapped(None, None, pe, None, file, frozenset(found), fault, devices_each=devices)


_OF_BINDING = {False: ("if-supported", "overload-allowed", "ordered"), True: ("overload-allowed", "no-overload", "if-supported")}
"""Modifiers of --bind-to, of Open MPI 4 and 5 (4.1.4 and 5.0.11, observed)."""


def bound(text: str | None, *, five: bool) -> Bound:
    """Return what a --bind-to says."""
    if not text:
        return Bound()
    head, _, rest = text.partition(":")
    flags = [word.lower() for word in re.split("[:,]", rest) if word]
    known = _OF_BINDING[five]
    odd = next((flag for flag in flags if _alike(flag, known) is None), None)
    fault = f"--bind-to has no modifier {odd[:40]}" if odd else None
    overload = any(_alike(flag, known) == "overload-allowed" for flag in flags)
    low = head.lower()
    if five:
        kind = "none" if not head else _alike("package" if low == "socket" else head, _FIVE_BIND)
        fault = fault or (None if kind else f"Open MPI 5 binds to no {head[:40]}")
        return Bound(kind or level_of(low), overload, fault=fault)
    if low in ("cpu-list", "cpulist"):
        return Bound("cpu-list", overload, "ordered" in flags, fault)
    if head and low not in _FOUR_BIND:
        return Bound(level_of(low), overload, fault=f"Open MPI 4 binds to no {head[:40]}")
    return Bound("none" if low == "board" else level_of(low) or None, overload, fault=fault)


def ranked(text: str | None, *, five: bool) -> tuple[str | None, str | None]:
    """Return what --rank-by says, and what is wrong with it."""
    if not text:
        return None, None
    head, _, how = text.lower().partition(":")
    if five:
        kind = _alike(head, ("slot", "node", "fill", "span"))
        return (kind or head), None if kind else f"Open MPI 5 ranks by no {text[:40]}"
    kind = _begins(head, ("slot", "node", "hwthread", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "board"))
    direction = _begins(how, ("span", "fill")) if how else ""
    if kind is None or direction is None:
        return head, f"Open MPI 4 ranks by no {text[:40]}"
    kind = "node" if kind == "board" else level_of(kind)
    return (f"{kind}:{direction}" if direction else kind), None


def bound_by_parameter(text: str | None, *, five: bool) -> str | None:
    """Return the parameter that says what ranks are bound to; 5 passes over one that it does not know, and socket is such."""
    head = (text or "").partition(":")[0].lower()
    return None if five and (head == "socket" or bound(head, five=True).fault) else text
