"""What an anonymised capture keeps of each command's answer and of each variable: what is named here, and nothing that is not."""

import json
import re
from collections.abc import Iterable, Iterator

from advisor.host.base import Ran
from advisor.host.kept import Keeper, Mask, text_of, whole
from advisor.host.scrub import stems
from advisor.host.secrets import GONE

_SAYS_VERSION = re.compile(
    r"(?i)version|mpi|prrte|slurm|flux|pbs|fabric|lstopo|hwloc|hydra|ucx|pals|mvapich|^[\w .-]{0,30}\d+\.\d+[\w.]*$"
)
_SAYS_MORE = re.compile(r"[/@\\'\"]|--|\bCC\b|CXX|FLAGS|(?i:error|cannot|could not|unable|fail|refused|denied|connect|by:)")
_LINES = 40


def _versions(mask: Mask, text: str) -> str:
    """Keep the lines that say a version in words of the trade; not those of paths, options and addresses."""
    lines = (line.rstrip() for line in text.splitlines()[:_LINES] if len(line) < 300)
    kept = [line for line in lines if _SAYS_VERSION.search(line) and not _SAYS_MORE.search(line)]
    if "mvapich" in text.lower() and not any("mvapich" in line.lower() for line in kept):
        kept.append("mvapich")
    return "".join(f"{mask.known(mask.text(line))}\n" for line in kept)


def _one_word(mask: Mask, text: str) -> str:
    return f"{mask.known(text.strip())}\n" if re.fullmatch(r"\s*[\w-]{1,40}\s*", text) else ""


_NODE = re.compile(
    r"(NodeName|NodeHostName|Arch|CoresPerSocket|CPUAlloc|CPUEfctv|CPUTot|CPUs|Boards|SocketsPerBoard|Sockets|ThreadsPerCore"
    r"|RealMemory|CoreSpecCount|CPUSpecList|MemSpecLimit|Gres|GresUsed|State|Version)=(\S*)"
)


def _slurm_node(mask: Mask, text: str) -> str:
    """Keep this node's line, of it what says how the node is cut."""
    kept = []
    for line in text.splitlines():
        words = _NODE.findall(line)
        if any(key in ("NodeName", "NodeHostName") and mask.own(value) for key, value in words):
            shown = (
                f"{key}={'node' if key in ('NodeName', 'NodeHostName') else mask.known(mask.text(value))}" for key, value in words
            )
            kept.append(" ".join(shown) + "\n")
    return "".join(kept)


def _keys(mask: Mask, text: str) -> str:
    """Keep the lines ``key=value`` in words of the trade, and that a file was closed."""
    kept = re.findall(r"(?m)^([A-Za-z]{1,40}=)([\w/,.:|\[\]-]{0,200})$", text)
    closed = "Permission denied\n" if "ermission denied" in text else ""
    return "".join(f"{key}{mask.known(value)}\n" for key, value in kept if key != "MainPID=") + closed


_OPTION = re.compile(
    r"(?m)^((?:PCI )?[Dd]evice:\s+(?:[0-9a-fA-F:.]{4,16}|/dev/mst/mt\d{4,6}_[\w.]{1,30}))$"
    r"|^([\s*]*[A-Z][A-Z0-9_]{2,60}\s+)(\S.*)$"
)


def _options(mask: Mask, text: str) -> str:
    """Keep the options of adapters' firmware below the addresses of the adapters."""
    return "".join(f"{device or option + mask.known(value)}\n" for device, option, value in _OPTION.findall(text))


def _links(mask: Mask, text: str) -> str:
    """Keep the numbers of GPUs and the rates of their links, not their names."""
    kept = re.findall(r"(?m)^(GPU \d{1,3}:)|^(\s*Link \d{1,2}: )(\S.{0,40})$", text)
    return "".join(f"{gpu or link + mask.known(rate)}\n" for gpu, link, rate in kept)


_COLUMN = re.compile(
    r"index|count|name|driver_version|gpu_bus_id|remapped_rows[\w.]*|retired_pages[\w.]*|pstate"
    r"|(?:pci|pcie|memory|clocks|power|ecc|mig|temperature|utilization|compute|persistence)[\w.]*"
)


def _columns(mask: Mask, argv: tuple[str, ...], out: str) -> str:
    """Keep the columns of nvidia-smi's answer that name no card."""
    query = next((word.partition("=")[2] for word in argv if word.startswith("--query-")), "")
    fields = [field.strip() for field in query.split(",")]
    kept = []
    for line in out.splitlines():
        cells = line.split(", ")
        if len(cells) == len(fields):
            told = (
                cell if _COLUMN.fullmatch(field) and len(cell) < 80 else GONE for field, cell in zip(fields, cells, strict=True)
            )
            kept.append(mask.known(mask.text(", ".join(told), addresses=False)) + "\n")
    return "".join(kept)


_CARD = re.compile(
    r"(?i)card (?:series|model|vendor|sku)|pci bus|vram .*memory.*|gfx version"
    r"|device (?:name|id|rev)|subsystem id|.*partition.*|node id"
)


def _cards(mask: Mask, out: str) -> str:
    """Keep what rocm-smi says of cards but their identity."""
    try:
        told = json.loads(out)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict):
        return ""
    cards = {
        name: {key: mask.known(mask.text(str(value))) for key, value in facts.items() if _CARD.fullmatch(key)}
        for name, facts in told.items()
        if isinstance(facts, dict) and re.fullmatch(r"(?:card|gpu)\d+|system", name, re.IGNORECASE)
    }
    return json.dumps(cards)


_PROGRAMS: dict[str, Keeper] = {
    **dict.fromkeys(("uname", "systemctl", "systemd-detect-virt"), _one_word),
    **dict.fromkeys(("mpichversion", "mpiname"), _versions),
    **dict.fromkeys(("mlxconfig", "mstconfig"), _options),
    "sed": _keys,
    "slurmd": _slurm_node,
    "scontrol": _slurm_node,
}
_VERSION_ASKED = frozenset({"--version", "-v", "-V", "version"})


def command_keeper(argv: tuple[str, ...]) -> Keeper | None:
    """Return what is kept of what a command prints, None where nothing is said of it."""
    if _VERSION_ASKED.intersection(argv[1:2]) and len(argv) == 2:
        return _versions
    if argv[0] == "nvidia-smi" and any(word.startswith("--query-") for word in argv):
        return lambda mask, text: _columns(mask, argv, text)
    if argv[:2] == ("nvidia-smi", "nvlink"):
        return _links
    if argv[:2] == ("systemctl", "show"):
        return _keys
    if argv[0] == "rocm-smi":
        return _cards
    return _PROGRAMS.get(argv[0])


def kept_answer(mask: Mask, argv: tuple[str, ...], ran: Ran) -> Ran:
    """Return what of a command's two outputs stays."""
    keeper = command_keeper(argv)
    if keeper is None:
        return ran._replace(out=b"", err=b"")
    out, err = (whole(keeper(mask, text_of(text))) for text in (ran.out, ran.err))
    return ran._replace(out=out, err=err)


def kept_variables(mask: Mask, variables: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield what of the variables stays: node lists by their shape, numbers of jobs as 1, words of the trade."""
    for name, value in variables:
        if re.search(r"NODELIST|NODENAME|LSB_(?:MCPU_)?HOSTS", name):
            yield name, stems(re.sub(r"\.[A-Za-z][\w.-]*", "", value))
        elif re.search(r"JOB_?ID$|APID$", name):
            yield name, "1"
        elif re.search(r"MASK|BIND", name) and re.fullmatch(r"[\w:,]{0,40}?:?[0-9A-Fa-fx,:-]{1,4096}", value):
            yield name, re.sub(r"(?<![0-9a-fx])[a-z_]*[g-wyz_][a-z_]*", lambda match: mask.known(match[0]), value)
        elif not re.search(
            r"PARTITION|RESERVATION|ACCOUNT|USER|NAME|QOS|_[UG]ID$|HOST|DIR$|HOME|QUEUE|NODEFILE|NODEID$|ADDR$", name
        ):
            yield mask.known(name), mask.known(mask.text(value))
