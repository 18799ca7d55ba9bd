"""The options of the commands that reach many nodes."""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import options as opt

Where = Annotated[str | None, typer.Option("-w", metavar="LIST", help="The nodes: n[001-400], or @group of ClusterShell.")]
HostsFile = Annotated[Path | None, typer.Option("--hosts", metavar="FILE", help="The nodes, a line each, as -w has them.")]
Slurm = Annotated[
    str | None, typer.Option("--slurm", metavar="PARTITION", help="A small job of Slurm for each node, instead of ssh.")
]
Folder = Annotated[Path, typer.Option("-o", metavar="DIR", help="The fleet's folder: NODE.tar.gz and answers.jsonl.")]
Again = Annotated[
    str | None,
    typer.Option(
        "--again", metavar="OUTCOME", help="Ask those again whose last outcome was this; failed: all without a capture."
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="S", min=1, max=86400, help="Seconds for each node; in Slurm's queue too.")
]
FanOut = Annotated[int, typer.Option("--fan-out", metavar="N", min=1, max=1024, help="Nodes that are asked at the same time.")]
Pairs = Annotated[
    bool, typer.Option("--pairs", help="Messages between pairs of nodes, each with some others: a bad link, a bad node.")
]
Meetings = Annotated[
    int, typer.Option("--meetings", metavar="K", min=1, max=64, help="With --pairs: others that each node meets.")
]
PairCommand = Annotated[
    str | None,
    typer.Option(
        "--pair-command", metavar="CMD", help="With --pairs: run this; {a} and {b} in it are the nodes; prints what OSU does."
    ),
]
Hpl = Annotated[bool, typer.Option("--hpl", help="HPL on each node by itself, on all at once, with the same N.")]
FleetQuick = Annotated[bool, typer.Option("--quick", help="Memory, peak, latency of each node: the default.")]
FleetXhpl = Annotated[
    Path | None, typer.Option("--xhpl", metavar="PATH", help="With --hpl: run this HPL, that every node has at that path.")
]
FleetKernels = Annotated[
    Path | None, typer.Option("--kernels", metavar="DIR", help="Use mbw_mr or hpl of this folder, that every node sees.")
]


def named(where: str | None, hosts: Path | None) -> tuple[str, ...] | None:
    """Return the nodes that are named; None where none is, and Slurm or the folder says which."""
    opt.at_most_one({"-w": where is not None, "--hosts": hosts is not None})
    from advisor.jobs.started.hosts import names_in, names_of

    return names_of(where) if where is not None else names_in(hosts) if hosts is not None else None
