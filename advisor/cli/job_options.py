"""The options of the commands that place ranks or measure: bind, measure, measure network, measure hpl."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from typer import Argument, Option

from advisor.cli import options as opt
from advisor.cli.options import at_most_one
from advisor.errors import BadValue
from advisor.jobs.launcher import names
from advisor.jobs.placement import STRATEGIES

# advisor bind
RANKS_PER = "--ranks-per"

BindSources = Annotated[
    list[str] | None,
    Option("--from", metavar="FILE", help="Read another machine; NAME=FILE for one of several hosts, may be repeated."),
]
Partition = Annotated[
    str | None,
    Option(
        "--partition", metavar="NAME", help="Plan for a node of this partition, using the site's capture of one of its nodes."
    ),
]
BindHosts = Annotated[str | None, Option("--hosts", "-w", metavar="A,B,..", help="The hosts in order: a,b or node[01-08].")]
Hostfile = Annotated[Path | None, Option("--hostfile", metavar="FILE", help="A file of hosts, one per line.")]
Nodes = Annotated[int | None, Option("--nodes", metavar="N", min=1, help="Number of hosts whose names are not known yet.")]
Assume = Annotated[
    list[str] | None,
    Option(
        "--assume", metavar="SETTING=V", help="Plan for the machine after a reboot with nps=4, smt=off, ... (advisor whatif)."
    ),
]
Ranks = Annotated[int | None, Option("--ranks", metavar="R", min=1, help="Total number of ranks.")]
PerNode = Annotated[int | None, Option("--ranks-per-node", metavar="R", min=1, help="Ranks on each host.")]
PerPart = Annotated[
    str | None,
    Option(RANKS_PER, metavar="PART [K]", help="K ranks (1 by default) per numa, l3, socket, core, node or gpu."),
]
Threads = Annotated[int | None, Option("--threads", metavar="T", min=1, help="Threads per rank, each on its own core.")]
Way = Annotated[
    str,
    Option(
        "--strategy",
        metavar="NAME",
        help=f"auto (chooses one and explains why), or {', '.join(STRATEGIES)}.",
        autocompletion=opt.strategies,
    ),
]
For = Annotated[
    Literal["bandwidth", "latency", "throughput"] | None,
    Option("--for", help="Choose the strategy by goal: memory bandwidth, message latency, throughput of many small jobs."),
]
Near = Annotated[str | None, Option("--near", metavar="DEV", help="Place ranks near this adapter or GPU: mlx5_0, gpu0.")]
Gpus = Annotated[int | None, Option("--gpus", metavar="N", min=1, help="Total number of GPUs; one rank is placed near each GPU.")]
Smt = Annotated[
    Literal["skip", "use", "first"] | None,
    Option(
        "--smt",
        help="Second hardware threads: leave them with their core (skip), use them as CPUs (use), or exclude them (first).",
    ),
]
CoreKind = Annotated[
    str,
    Option(
        "--core-kind",
        metavar="KIND",
        help="If core types differ: auto uses the fastest first; fast, slow or P-core uses only that type; any treats all alike.",
    ),
]
Mem = Annotated[
    Literal["auto", "hbm", "dram"],
    Option("--mem", help="On nodes with HBM: auto fills HBM first, then DRAM; hbm uses only HBM, dram only DRAM."),
]
Reserve = Annotated[
    str,
    Option("--reserve", metavar="CORES", help="Cores per node reserved for the system; l3:1 is one per L3 group."),
]
Slice = Annotated[str | None, Option("--slice", metavar="K/N", help="Use the k-th of n parts of each node.")]
LauncherName = Annotated[
    str | None, Option("--launcher", metavar="NAME", help=f"{', '.join(names())}.", autocompletion=opt.launchers)
]
MpiLauncher = Annotated[
    str | None,
    Option("--launcher", metavar="NAME", help=f"{', '.join(names(starting=True))}.", autocompletion=opt.starting),
]
SlurmConf = Annotated[Path | None, Option("--slurm-conf", metavar="FILE", help="A slurm.conf, for srun's defaults.")]
Exact = Annotated[bool, Option("--exact", help="List every rank's CPUs even if a short form is equivalent.")]
Wrap = Annotated[bool, Option("--wrapper", help="Bind each rank with a small script rather than through the launcher.")]
Report = Annotated[bool, Option("--report", help="Make the launcher print its bindings.")]
Benchmark = Annotated[
    Literal["mbw_mr", "latency", "bw", "bibw", "stream"] | None,
    Option("--benchmark", help="Print a benchmark's commands for each part of the machine."),
]
LearnedFile = Annotated[
    Path | None,
    Option("--learned", metavar="FILE", help="Use the placement that advisor tune found best for this program and machine."),
]
BindPer = Annotated[Literal["numa", "socket", "node"] | None, Option("--per", help="With --benchmark: one command per part.")]
BindFolder = Annotated[
    Path | None, Option("--output", "-o", metavar="DIR", help="Write the script, its files and job scripts to this folder.")
]
BindSvg = Annotated[Path | None, Option("--svg", metavar="FILE", help="Draw the node with its ranks as SVG in FILE.")]
BindExplain = Annotated[bool, Option("--explain", help="List every rank, every reason and every strategy.")]
BindLine = Annotated[bool, Option("--line", help="Print only the command, on one line, for scripts.")]
BindQuiet = Annotated[bool, Option("--quiet", "-q", help="Print the command and its files, without the reasons or the diagram.")]
BindCommand = Annotated[list[str] | None, Argument(metavar="-- COMMAND...", help="The program to start.", show_default=False)]


class JobPage(NamedTuple):
    """What is to be printed of a job."""

    line: bool
    quiet: bool
    explain: bool

    def kind(self, *, json: bool) -> str:
        """Return line, quiet, explain or page; refuse two of these at once."""
        at_most_one({"--line": self.line, "--quiet": self.quiet, "--explain": self.explain})
        at_most_one({"--json": json, "--line": self.line, "--quiet": self.quiet})
        return next((name for name, wished in self._asdict().items() if wished), "page")


# advisor measure
class MeasuredPart(StrEnum):
    """Parts of a machine; no Literal, for Python takes one of the same words in another order for the same."""

    CORE = "core"
    L3 = "l3"
    NUMA = "numa"
    SOCKET = "socket"
    NODE = "node"


MeasureWords = Annotated[
    list[str] | None,
    Argument(
        metavar="[WHAT | show FILE | publish FILE]", help="membw, scaling, matrix, ladder, ...", autocompletion=opt.measurements
    ),
]
MeasureQuick = Annotated[bool, Option("--quick", help="Measure the quick set, in under a minute (the default).")]
MeasureFull = Annotated[bool, Option("--full", help="Measure everything; takes many minutes; --dry-run shows how many.")]
MeasurePer = Annotated[MeasuredPart | None, Option("--per", help="For membw or a named kernel: measure all parts of this kind.")]
Pattern = Annotated[
    str | None,
    Option("--pattern", metavar="LIST", help="For membw: variants such as load,triad-nt, or all; --list shows them."),
]
Cpus = Annotated[str | None, Option("--cpus", metavar="LIST", help="Use only these CPUs: 0-15,32.")]
Node = Annotated[int | None, Option("--node", metavar="N", min=0, help="Allocate all memory on this NUMA node.")]
MeasureSmt = Annotated[Literal["skip", "use"], Option("--smt", help="Use or skip the second hardware threads (SMT).")]
MeasureDryRun = Annotated[
    bool, Option("--dry-run", help="Print what would be measured and how long it would take, without running it.")
]
Saved = Annotated[
    list[Path] | None,
    Option("--measurements", metavar="FILE", help="Show saved results from this machine; may be repeated."),
]
List = Annotated[bool, Option("--list", help="Print what each kernel measures: variants, units, bytes, flops.")]
MeasureSvg = Annotated[Path | None, Option("--svg", metavar="FILE", help="Write the results as SVG to FILE.")]
MeasurePng = Annotated[Path | None, Option("--png", metavar="FILE", help="Write the results as PNG to FILE.")]
Chart = Annotated[
    str | None,
    Option(
        "--chart",
        metavar="NAME",
        help="Chart to draw: scaling, bandwidth-matrix, latency-matrix, ladder, map, roofline, ...",
        autocompletion=opt.charts,
    ),
]
Intensity = Annotated[float | None, Option("--intensity", metavar="X", help="Mark a code with X FLOP/byte on the roofline.")]
MeasureKernels = Annotated[Path | None, Option("--kernels", metavar="DIR", help="Use kernels built elsewhere.")]
BuildOnly = Annotated[bool, Option("--build-only", help="Build all kernels into -o DIR without measuring.")]
March = Annotated[str | None, Option("--march", metavar="X", help="With --build-only: build for this processor, such as znver4.")]

# advisor measure hpl
HplHosts = Annotated[
    str | None,
    Option("--hosts", "-w", metavar="A,B,..", help="Hosts to use, all like this one; default: the job's hosts, or this host."),
]
Xhpl = Annotated[Path | None, Option("--xhpl", metavar="PATH", help="Run this HPL binary: netlib's, AMD's or Intel's.")]
HplQuick = Annotated[bool, Option("--quick", help="Run for about a minute (the default).")]
HplFull = Annotated[bool, Option("--full", help="Choose N to fill 85 % of the free memory.")]
Order = Annotated[int | None, Option("--n", metavar="N", min=1, max=10_000_000, help="Problem size: number of equations.")]
Block = Annotated[
    int | None, Option("--nb", metavar="NB", min=1, max=4096, help="Block size; skips the search for the fastest one.")
]
HplPerPart = Annotated[
    str | None, Option("--ranks-per", metavar="PART", help="One rank per core (the default), l3, numa, socket or node.")
]
Scaling = Annotated[
    bool, Option("--scaling", help="Measure 1, 2, 4, .. hosts; on one host, a NUMA node, a socket and the whole host.")
]
BlasFlag = Annotated[str | None, Option("--blas", metavar="FLAGS", help="Link this BLAS: '-L/opt/blis/lib -lblis'.")]
HplKernels = Annotated[
    Path | None, Option("--kernels", metavar="DIR", help="Use the programs hpl and peakflops from this folder.")
]
HplDryRun = Annotated[
    bool, Option("--dry-run", help="Print the command of the largest run, or of each --scaling step, without running it.")
]

# advisor measure network
NetworkHosts = Annotated[
    str | None, Option("--hosts", "-w", metavar="A,B", help="The two hosts; default in a Slurm or PBS job: its first two.")
]
NetworkSources = Annotated[
    list[str] | None,
    Option("--from", metavar="FILE", help="Describe both hosts with FILE, or one host with NAME=FILE; may be repeated."),
]
NetworkPer = Annotated[
    Literal["numa", "socket", "node"] | None,
    Option("--per", help="Measure each part only with all its cores, not with single pairs of cores."),
]
Adapter = Annotated[str | None, Option("--hca", metavar="NAME", help="Measure only this adapter: mlx5_0; default: all in turn.")]
Sizes = Annotated[str | None, Option("--sizes", metavar="LIST", help="Message sizes: 8,64KiB,1MiB, or 1:4MiB for doublings.")]
NetworkKernels = Annotated[Path | None, Option("--kernels", metavar="DIR", help="Use the program mbw_mr from this folder.")]
NetworkBefore = Annotated[
    Path | None,
    Option("--before", metavar="OLD", help="Show what changed since this run (a file) or these runs (a folder)."),
]
NetworkDryRun = Annotated[bool, Option("--dry-run", help="Print every command without running it.")]


def what_to_measure(words: list[str], *, quick: bool, full: bool) -> str:
    """Return what is to be measured; refuse two things at once."""
    if len(words) > 1:
        raise BadValue(f"{words[1][:40]} is an extra word", cure="measure one thing at a time, or everything with --full")
    at_most_one({"--quick": quick, "--full": full, "".join(words)[:40]: bool(words)})
    if words and words[0] in ("network", "hpl"):
        problem = f"measure {words[0]} is a command with options of its own"
        raise BadValue(problem, cure=f"put its options after its name; advisor measure {words[0]} --help lists them")
    return words[0] if words else "full" if full else "quick"


def folder_to_build(folder: Path | None, *, build_only: bool) -> Path:
    """Return the folder that kernels are built into; refuse --march without --build-only, and that without a folder."""
    if not build_only:
        raise BadValue("--march requires --build-only", cure="kernels for use on this machine are always built for its processor")
    if folder is None:
        raise BadValue("--build-only needs an output folder", cure="name it with -o DIR")
    return folder
