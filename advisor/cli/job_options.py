"""The options of the commands that place ranks or measure: bind, measure, measure network, measure hpl."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from advisor.cli import options as opt
from advisor.cli.options import at_most_one
from advisor.errors import BadValue
from advisor.jobs.launcher import names
from advisor.jobs.placement import STRATEGIES

# advisor bind
RANKS_PER = "--ranks-per"

BindSources = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="FILE", help="Read another machine; NAME=FILE for one of several hosts, may be repeated."),
]
BindHosts = Annotated[str | None, typer.Option("--hosts", "-w", metavar="A,B,..", help="The hosts in order: a,b or node[01-08].")]
Hostfile = Annotated[Path | None, typer.Option("--hostfile", metavar="FILE", help="A file of hosts, one per line.")]
Nodes = Annotated[int | None, typer.Option("--nodes", metavar="N", min=1, help="Number of hosts whose names are not known yet.")]
Assume = Annotated[
    list[str] | None,
    typer.Option("--assume", metavar="SETTING=V", help="Plan for after a restart with nps=4, smt=off, ... (advisor whatif)."),
]
Ranks = Annotated[int | None, typer.Option("--ranks", metavar="R", min=1, help="Total number of ranks.")]
PerNode = Annotated[int | None, typer.Option("--ranks-per-node", metavar="R", min=1, help="Ranks on each host.")]
PerPart = Annotated[
    str | None,
    typer.Option(RANKS_PER, metavar="PART [K]", help="K ranks (1 by default) per numa, l3, socket, core, node or gpu."),
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="T", min=1, help="Threads per rank, each on its own core.")]
Way = Annotated[
    str,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help=f"auto chooses and says why, or {', '.join(STRATEGIES)}.",
        autocompletion=opt.strategies,
    ),
]
For = Annotated[
    Literal["bandwidth", "latency", "throughput"] | None,
    typer.Option("--for", help="Choose the strategy by goal: memory bandwidth, message latency, throughput of many small jobs."),
]
Near = Annotated[str | None, typer.Option("--near", metavar="DEV", help="Place ranks near this adapter or GPU: mlx5_0, gpu0.")]
Gpus = Annotated[int | None, typer.Option("--gpus", metavar="N", min=1, help="Total number of GPUs, one rank near each.")]
Smt = Annotated[
    Literal["skip", "use", "first"] | None,
    typer.Option("--smt", help="Second hardware threads: belong to the core (skip), count (use), or are left out (first)."),
]
CoreKind = Annotated[
    str,
    typer.Option(
        "--core-kind",
        metavar="KIND",
        help="If cores differ: auto takes the fastest first; fast, slow or P-core only these; any takes all equally.",
    ),
]
Mem = Annotated[
    Literal["auto", "hbm", "dram"],
    typer.Option("--mem", help="If there is HBM: auto fills HBM first, then DRAM; hbm uses only HBM, dram only DRAM."),
]
Reserve = Annotated[
    str,
    typer.Option("--reserve", metavar="CORES", help="Cores per node left to the system; l3:1 is one per L3 group."),
]
Slice = Annotated[str | None, typer.Option("--slice", metavar="K/N", help="Use part k of n of each node.")]
LauncherName = Annotated[
    str | None, typer.Option("--launcher", metavar="NAME", help=f"{', '.join(names())}.", autocompletion=opt.launchers)
]
MpiLauncher = Annotated[
    str | None,
    typer.Option("--launcher", metavar="NAME", help=f"{', '.join(names(starting=True))}.", autocompletion=opt.starting),
]
SlurmConf = Annotated[Path | None, typer.Option("--slurm-conf", metavar="FILE", help="A slurm.conf, for srun's defaults.")]
Exact = Annotated[bool, typer.Option("--exact", help="List every rank's CPUs even if a short form is equivalent.")]
Wrap = Annotated[bool, typer.Option("--wrapper", help="Bind each rank with a small script instead of the launcher.")]
Report = Annotated[bool, typer.Option("--report", help="Let the launcher print its bindings.")]
Benchmark = Annotated[
    Literal["mbw_mr", "latency", "bw", "bibw", "stream"] | None,
    typer.Option("--benchmark", help="Print the commands of a benchmark, part by part."),
]
LearnedFile = Annotated[
    Path | None,
    typer.Option(
        "--learned", metavar="FILE", help="Use the placement that advisor tune found best for this program and machine."
    ),
]
BindPer = Annotated[
    Literal["numa", "socket", "node"] | None, typer.Option("--per", help="With --benchmark: one command per part.")
]
BindFolder = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write script, files and job scripts there.")
]
BindSvg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write the node with its ranks as SVG to FILE.")]
BindExplain = Annotated[bool, typer.Option("--explain", help="List every rank, every reason and every strategy.")]
BindLine = Annotated[bool, typer.Option("--line", help="Print only the command, on one line, for scripts.")]
BindQuiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the command and its files, without reasons or drawing.")]
BindCommand = Annotated[
    list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The program to start.", show_default=False)
]


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
    typer.Argument(
        metavar="[WHAT | show FILE | publish FILE]", help="membw, scaling, matrix, ladder, ...", autocompletion=opt.measurements
    ),
]
MeasureQuick = Annotated[bool, typer.Option("--quick", help="The quick set, under a minute: the default.")]
MeasureFull = Annotated[bool, typer.Option("--full", help="Measure everything; takes many minutes, --dry-run says how many.")]
MeasurePer = Annotated[
    MeasuredPart | None, typer.Option("--per", help="Measure all parts of this kind: membw, or a kernel by its name.")
]
Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="LIST", help="For membw: load,triad-nt and so on, or all; --list names them."),
]
Cpus = Annotated[str | None, typer.Option("--cpus", metavar="LIST", help="Use these CPUs only: 0-15,32.")]
Node = Annotated[int | None, typer.Option("--node", metavar="N", min=0, help="Allocate all memory on this NUMA node.")]
MeasureSmt = Annotated[Literal["skip", "use"], typer.Option("--smt", help="Whether to use second hardware threads (SMT).")]
MeasureDryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be measured and how long it takes, without running it.")
]
Saved = Annotated[
    list[Path] | None,
    typer.Option("--measurements", metavar="FILE", help="Show saved results of this machine; may be repeated."),
]
List = Annotated[bool, typer.Option("--list", help="Print what each kernel measures: variants, units, bytes, flops.")]
MeasureSvg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write the results as SVG to FILE.")]
MeasurePng = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Write the results as PNG to FILE.")]
Chart = Annotated[
    str | None,
    typer.Option(
        "--chart",
        metavar="NAME",
        help="Which chart: scaling, bandwidth-matrix, latency-matrix, ladder, map, roofline, ...",
        autocompletion=opt.charts,
    ),
]
Intensity = Annotated[float | None, typer.Option("--intensity", metavar="X", help="Mark a code of X FLOP/byte in the roofline.")]
MeasureKernels = Annotated[Path | None, typer.Option("--kernels", metavar="DIR", help="Use kernels built elsewhere.")]
BuildOnly = Annotated[bool, typer.Option("--build-only", help="Build all kernels into -o DIR and measure nothing.")]
March = Annotated[str | None, typer.Option("--march", metavar="X", help="With --build-only: for this processor, such as znver4.")]

# advisor measure hpl
HplHosts = Annotated[
    str | None,
    typer.Option("--hosts", "-w", metavar="A,B,..", help="Hosts like this one; default: the job's hosts, or this one."),
]
Xhpl = Annotated[Path | None, typer.Option("--xhpl", metavar="PATH", help="Run this HPL: netlib's, AMD's, Intel's.")]
HplQuick = Annotated[bool, typer.Option("--quick", help="About a minute: the default.")]
HplFull = Annotated[bool, typer.Option("--full", help="N for 85 % of the free memory.")]
Order = Annotated[int | None, typer.Option("--n", metavar="N", min=1, max=10_000_000, help="Number of equations.")]
Block = Annotated[
    int | None, typer.Option("--nb", metavar="NB", min=1, max=4096, help="Block size; without a search for the fastest.")
]
HplPerPart = Annotated[
    str | None, typer.Option("--ranks-per", metavar="PART", help="One rank per core (the default), l3, numa, socket or node.")
]
Scaling = Annotated[
    bool, typer.Option("--scaling", help="Measure 1, 2, 4, .. hosts; on one host, a NUMA node, a socket and all.")
]
BlasFlag = Annotated[str | None, typer.Option("--blas", metavar="FLAGS", help="Link this BLAS: '-L/opt/blis/lib -lblis'.")]
HplKernels = Annotated[
    Path | None, typer.Option("--kernels", metavar="DIR", help="Use the programs hpl and peakflops of this folder.")
]
HplDryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the command of the largest run, or of each --scaling step, without running it.")
]

# advisor measure network
NetworkHosts = Annotated[
    str | None, typer.Option("--hosts", "-w", metavar="A,B", help="The two hosts; in a Slurm or PBS job its first two.")
]
NetworkSources = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="FILE", help="Read the hosts from a file; NAME=FILE for one of them, may be repeated."),
]
NetworkPer = Annotated[
    Literal["numa", "socket", "node"] | None, typer.Option("--per", help="Only all cores of each part, no single pairs.")
]
Adapter = Annotated[str | None, typer.Option("--hca", metavar="NAME", help="Only this adapter: mlx5_0; default: each in turn.")]
Sizes = Annotated[
    str | None, typer.Option("--sizes", metavar="LIST", help="Message sizes: 8,64KiB,1MiB, or 1:4MiB for doublings.")
]
NetworkKernels = Annotated[Path | None, typer.Option("--kernels", metavar="DIR", help="Use the program mbw_mr of this folder.")]
NetworkBefore = Annotated[
    Path | None,
    typer.Option("--before", metavar="OLD", help="Show what changed since this run (a file) or these runs (a folder)."),
]
NetworkDryRun = Annotated[bool, typer.Option("--dry-run", help="Print every command without running it.")]


def what_to_measure(words: list[str], *, quick: bool, full: bool) -> str:
    """Return what is to be measured; refuse two things at once."""
    if len(words) > 1:
        raise BadValue(f"{words[1][:40]} is an extra word", cure="measure one thing at a time, or everything with --full")
    at_most_one({"--quick": quick, "--full": full, "".join(words)[:40]: bool(words)})
    if words and words[0] in ("network", "hpl"):
        problem = f"measure {words[0]} is a command with options of its own"
        raise BadValue(problem, cure=f"put its options after it: advisor measure {words[0]} --help")
    return words[0] if words else "full" if full else "quick"


def folder_to_build(folder: Path | None, *, build_only: bool) -> Path:
    """Return the folder that kernels are built into; refuse --march without --build-only, and that without a folder."""
    if not build_only:
        raise BadValue("--march goes with --build-only", cure="kernels that are used here are built for this processor")
    if folder is None:
        raise BadValue("--build-only builds into a folder", cure="name it with -o DIR")
    return folder
