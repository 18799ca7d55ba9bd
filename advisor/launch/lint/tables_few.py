"""The options of launchers that have few: PALS's mpiexec and MVAPICH2's mpirun_rsh."""

from collections.abc import Mapping

Table = Mapping[str, tuple[int, str]]
"""How many words follow an option, and what it means; {0} and {1} are those words."""

PALS: Table = {
    "-n": (1, "starts {0} ranks"),
    "-ppn": (1, "starts {0} ranks on each node"),
    "--depth": (1, "gives each rank {0} CPUs, or cores with --cpu-bind core"),
    "--cpu-bind": (1, "binds each rank by {0}"),
    "--mem-bind": (1, "binds memory by {0}"),
    "--gpu-bind": (1, "gives each rank GPUs by {0}"),
    "-hosts": (1, "on the hosts {0}"),
    "-f": (1, "on the hosts of the file {0}"),
    "--env": (1, "sets {0} for all ranks"),
    "--label": (0, "marks output with the rank"),
    "--line-buffer": (0, "prints whole lines"),
    "--no-transfer": (0, "does not copy the program to the nodes"),
    "--pmi": (1, "starts MPI by {0}"),
    "--procinfo-file": (1, "writes where ranks are to {0}"),
    "--wdir": (1, "starts in the folder {0}"),
}
PALS_ALIASES: Mapping[str, str] = {
    "-np": "-n",
    "--np": "-n",
    "--n": "-n",
    "--ppn": "-ppn",
    "-d": "--depth",
    "-depth": "--depth",
    "-cpu-bind": "--cpu-bind",
    "-mem-bind": "--mem-bind",
    "-gpu-bind": "--gpu-bind",
    "--hosts": "-hosts",
    "--hostlist": "-hosts",
    "--hostfile": "-f",
    "-hostfile": "-f",
    "-env": "--env",
    "-genv": "--env",
    "-l": "--label",
}

MPIRUN_RSH: Table = {
    "-np": (1, "starts {0} ranks"),
    "-hostfile": (1, "on the hosts of the file {0}"),
    "-hosts": (1, "on the hosts {0}, a name for each rank"),
    "-env": (2, "sets {0} to {1} for all ranks"),
    "-ssh": (0, "starts daemons by ssh"),
    "-rsh": (0, "starts daemons by rsh"),
    "-export": (0, "passes variables on"),
    "-export-all": (0, "passes all variables on"),
    "-debug": (0, "starts a debugger"),
    "-show": (0, "shows what it would start"),
    "-legacy": (0, "starts in the older way"),
}
