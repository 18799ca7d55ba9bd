"""Job scripts: what their lines start, what is wrong in them, that what is corrected is clean; written after real shapes."""

from pathlib import Path
from typing import Any

import pytest

from advisor.errors import BadInput
from advisor.jobs.check import Check, check, check_page, surroundings
from advisor.jobs.scripts import grammar
from advisor.jobs.scripts.directives import long_name
from advisor.jobs.scripts.steps import read, variants
from advisor.machine.hosts.base import Ran
from advisor.show.lines import text_of
from tests.jobs.place.samples import machine

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --cpus-per-task=4\n"


def checked(text: str, **how: Any) -> Check:
    """Return what check says of a script."""
    return check("job.sh", text=text, slurm_version=how.pop("slurm_version", "24.05"), **how)


def counts(text: str) -> list[tuple[Any, ...]]:
    """Return launcher, ranks, nodes, threads and GPUs of each step."""
    return [
        (step.launcher, *(variants(step, name) for name in ("ranks", "nodes", "threads", "gpus"))) for step in read(text).steps
    ]


def ids(text: str, **how: Any) -> list[str]:
    """Return the faults."""
    return [fault.id for fault in checked(text, **how).faults]


COUNTS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "the header alone": (f"{HEAD}srun ./a\n", [("srun", 16, 2, 4, 0)]),
    "nodes alone: one rank on each": ("#!/bin/sh\n#SBATCH -N 4\nsrun ./a\n", [("srun", 4, 4, None, 0)]),
    "-n of the line": (f"{HEAD}export OMP_NUM_THREADS=2\nsrun -n4 -N1 ./a\n", [("srun", 4, 1, 2, 0)]),
    "a default that stands for what is not set": (f"{HEAD}export OMP_NUM_THREADS=${{N:-3}}\nsrun ./a\n", [("srun", 16, 2, 3, 0)]),
    "a default that is set": (f"{HEAD}srun -n ${{K:=5}} ./a; srun -n $K ./b\n", [("srun", 5, 2, 4, 0), ("srun", 5, 2, 4, 0)]),
    "arithmetic": (f"{HEAD}P=6\nsrun -n $((P*SLURM_NNODES)) ./a\n", [("srun", 12, 2, 4, 0)]),
    "expr and let": (f"{HEAD}let P=2*3\nsrun -n `expr $P \\* 2` ./a\n", [("srun", 12, 2, 4, 0)]),
    "a continued line": (f"{HEAD}srun \\\n  -n 8 \\\n  ./a\n", [("srun", 8, 2, 4, 0)]),
    "a comment that ends in a backslash does not continue": (
        f"{HEAD}# old: srun -n 2 \\\nsrun -n 8 ./a\n",
        [("srun", 8, 2, 4, 0)],
    ),
    "options in a variable": (f'{HEAD}OPTS="-n 8 --cpu-bind=cores"\nsrun $OPTS ./a\n', [("srun", 8, 2, 4, 0)]),
    "options that are not known": (f"{HEAD}srun $OPTS ./a\n", [("srun", None, 2, 4, 0)]),
    "a launcher in a variable": (f'{HEAD}RUN="mpirun -np 6"\n$RUN ./a\n', [("mpirun", 6, 2, 4, 0)]),
    "a launcher that is not known": (f"{HEAD}$MPIEXEC -n 6 ./a\n", [("mpiexec", 6, 2, 4, 0)]),
    "jsrun in a variable is not srun": (f"{HEAD}$JSRUN -n 6 ./a\n", [("jsrun", 6, 2, 1, 0)]),
    "a launcher in an array": (f"{HEAD}RUN=(mpirun -np 6)\n${{RUN[@]}} ./a\n", [("mpirun", 6, 2, 4, 0)]),
    "programs joined by a colon": (f"{HEAD}mpirun -np 1 ./a : -np $((SLURM_NTASKS-1)) ./b\n", [("mpirun", 16, 2, 4, 0)]),
    "a loop, each time": (f"{HEAD}for n in 2 4 8; do srun -n $n ./a; done\n", [("srun", [2, 4, 8], 2, 4, 0)]),
    "a function that starts what it is given": (
        f'{HEAD}cmd() {{ echo "$@"; time "$@"; }}\nto() {{ f=$1; shift; "$@" > $f; }}\ncmd srun -n 8 ./a\nto l mpirun -np 3 ./b',
        [("srun", 8, 2, 4, 0), ("mpirun", 3, 2, 4, 0)],
    ),
    "a function that evaluates what it is given": (
        f'{HEAD}cmd() {{ echo "+ $@"; eval "$@"; }}\ncmd "srun -n 8 ./a b"\n', [("srun", 8, 2, 4, 0)]
    ),
    "directives of PBS behind blanks": (
        " #PBS -l select=2:ncpus=8:mpiprocs=4\n #PBS -q x\nmodule load compiler/12\nmpirun ./a\n", [("mpirun", 8, 2, 1, 0)]
    ),
    "gerun takes the slots": ("#$ -pe mpi 96\ngerun ./a\n", [("gerun", 96, None, 1, 0)]),
    "a count of GPUs that a variable has": (
        "#PBS -l select=2\nNGPUS=4\nmpiexec -n 8 -ppn $NGPUS --envall --rankfile r ./a\n", [("mpiexec", 8, 2, 1, None)]
    ),
    "agents behind what enters an environment": (
        (f"{HEAD}#SBATCH --gpus-per-node=8\nR='--num_processes 16 --num_machines 2'\n"
        "srun -n 2 uv run torchrun --nproc_per_node=8 t.py\nsrun -n 2 python -m accelerate.commands.launch $R t.py\n"
        "srun -n 2 conda run -n e python -m torch.distributed.run --nproc_per_node=8 t.py\n"),
        [("srun", 16, 2, 1, 16)] * 3,
    ),
    "an agent behind the output of a pipe": (
        (f'{HEAD}#SBATCH --gpus-per-node=8\nH=$(scontrol show hostnames | head -n 1)\n'
        'srun -n 2 bash -c "torchrun --rdzv_endpoint $H:29500 --nnodes 2 --nproc_per_node 8 t.py"\n'),
        [("srun", 16, 2, 1, 16)],
    ),
    "old substitutions whose quotes the grammar loses": (
        f'{HEAD}A="`date \'+%Y\'`"\nR=${{R:-6}}\ncp `dirname "$X"`/*.xml "$D"\nB="` pwd -P `"\nsrun -n $((R * 2)) ./a\n',
        [("srun", 12, 2, 4, 0)],
    ),
    "a loop that counts": (
        f"{HEAD}n=1\nwhile [ $n -le 4 ]; do srun -n $n ./a; n=$((n*2)); done\n", [("srun",
        [1, 2, 4], [1, 2, 2], 4, 0)],
    ),
    "a loop over files": (f"{HEAD}for f in *.inp; do srun ./a $f; done\n", [("srun", 16, 2, 4, 0)]),
    "a function": (f"{HEAD}go() {{ srun -n $1 ./a; }}\ngo 2\n", [("srun", 2, 2, 4, 0)]),
    "a here document that is no script": (f"{HEAD}cat > in <<EOF\nsrun -n 2 ./no\nEOF\nsrun ./a\n", [("srun", 16, 2, 4, 0)]),
    "inside a container": (f"{HEAD}singularity exec x.sif mpirun -np 2 ./a\n", [("mpirun", 2, 2, 4, 0)]),
    "a wrapper before the program": (f"{HEAD}time numactl -l srun ./wrap.sh ./a\n", [("srun", 16, 2, 4, 0)]),
    "a helper whose output is taken": (f"{HEAD}h=$(srun -N1 -n1 hostname)\nsrun ./a\n", [("srun", 16, 2, 4, 0)]),
    "a question to the launcher": (
        f"{HEAD}mpirun --version | head -1\nsrun ./a\n",
        [("mpirun", 0, 1, None, 0), ("srun", 16, 2, 4, 0)],
    ),
    "GPUs of a task": (f"{HEAD}srun --gpus-per-task=a100:1 ./a\n", [("srun", 16, 2, 4, 16)]),
    "GPUs of the job": (f"{HEAD}#SBATCH --gres=gpu:4\nsrun ./a\n", [("srun", 16, 2, 4, 8)]),
    "branches that are not known": (
        f"{HEAD}if [ $1 = x ]; then N=2; else N=4; fi\nsrun -n $N ./a\n",
        [("srun", None, 2, 4, 0)],
    ),
    "branches that end": (f"{HEAD}N=4\nif [ $# -lt 1 ]; then N=2; exit 1; fi\nsrun -n $N ./a\n", [("srun", 4, 2, 4, 0)]),
    "branches that are known": (
        (f'{HEAD}if [ -n "$SLURM_CPUS_PER_TASK" ]; then T=$SLURM_CPUS_PER_TASK; else T=1; fi\n'
        "export OMP_NUM_THREADS=$T\nsrun ./a\n"),
        [("srun", 16, 2, 4, 0)],
    ),
    "csh": ("#!/bin/tcsh\n#SBATCH -n 4\n#SBATCH -N 1\nsetenv OMP_NUM_THREADS 2\nsrun ./a >& log\n", [("srun", 4, 1, 2, 0)]),
    "PBS chunks": (
        "#PBS -l select=2:ncpus=16:mpiprocs=4:ompthreads=4:ngpus=1\nmpirun ./a\n",
        [("mpirun", 8, 2, 4, 2)],
    ),
    "PBS and its node file": (
        ("#PBS -l nodes=2:ppn=8\nNP=`wc -l < $PBS_NODEFILE`\nNN=$(sort -u $PBS_NODEFILE | wc -l)\n"
        "mpirun -np $NP ./a\nmpirun -np $NN ./b\n"),
        [("mpirun", 16, 2, 1, 0), ("mpirun", 2, 2, 1, 0)],
    ),
    "PALS": (
        ("#PBS -l select=4\nN=`wc -l < $PBS_NODEFILE`\n"
        "mpiexec -n $((N*6)) --ppn 6 -d 8 --cpu-bind depth -env OMP_NUM_THREADS=8 ./a\n"),
        [("mpiexec", 24, 4, 8, 0)],
    ),
    "LSF": ('#BSUB -n 24\n#BSUB -R "span[ptile=12]"\nmpirun.lsf -np 24 ./a\n', [("mpirun", 24, 2, 1, 0)]),
    "jsrun": ("#BSUB -nnodes 2\njsrun -n 12 -r 6 -a 1 -g 1 -c 7 ./a\n", [("jsrun", 12, 2, 7, 12)]),
    "Grid Engine": ("#$ -pe mpi 8\nmpirun -n $NSLOTS ./a\n", [("mpirun", 8, None, 1, 0)]),
    "Flux": ("#flux: -N 4\nflux run -N 4 --tasks-per-node=2 -c 7 -g 1 ./a\n", [("flux run", 8, 4, 7, 8)]),
    "Flux inside Slurm": (
        '#!/bin/sh\n#SBATCH -N 2\nsrun -N2 -n2 flux start "for i in 1 2 3; do flux submit -n 1 -c 7 ./a; done"\n',
        [("srun", 2, 2, 1, 0), ("flux submit", 1, 1, 7, 0)],
    ),
    "torchrun on each node": (
        ("#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=4\n"
        "srun torchrun --nproc_per_node 4 t.py\n"),
        [("srun", 8, 2, 1, 8)],
    ),
    "torch.distributed.run in a shell of its own": (
        ("#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n"
        "export RUN='python -u -m torch.distributed.run --nproc_per_node 4'\n"
        "srun bash -c '$RUN --node_rank $SLURM_PROCID t.py'\n"),
        [("srun", 8, 2, 1, 0)],
    ),
    "a line that eval makes": (f'{HEAD}run="srun -n 4"; com="./a -x"\neval "$run $com"\n', [("srun", 4, 2, 4, 0)]),
    "an option of another mpirun": (f"{HEAD}mpirun --gm-kill 7 -v -np 3 ./a\n", [("mpirun", 3, 2, 4, 0)]),
    "a copy of the node file": (
        "#PBS -l nodes=3:ppn=2\ncat $PBS_NODEFILE > mf\nmpirun -np `wc -l mf | awk '{print $1}'` ./a\n",
        [("mpirun", 6, 3, 1, 0)],
    ),
    "a line that a sourced script starts": (f'{HEAD}run="srun -n 4"\n. ./tests.sh\n', [("srun", 4, 2, 4, 0)]),
    "deepspeed": ("deepspeed --num_gpus 4 --num_nodes 2 train.py --x 1\n", [("deepspeed", 8, 2, 1, 8)]),
    "accelerate": ("accelerate launch --multi_gpu --num_processes 8 t.py\n", [("accelerate launch", 8, 1, 1, 8)]),
    "ranks by the GPUs": (f"{HEAD}srun --gpus=4 --ntasks-per-gpu=2 ./a\n", [("srun", 8, 2, 4, 4)]),
    "a script that is written and submitted": (
        "N=4\ncat > job.sh <<EOF\n#!/bin/bash\n#PBS -l select=$N:mpiprocs=2\nmpirun ./a\nEOF\nqsub job.sh\n",
        [("mpirun", 8, 4, 1, 0)],
    ),
    "a variable between others in a word": (
        f"{HEAD}L=logs; for i in 1 2; do srun -o $L/a-$i.log -n 4 ./a > $L/b-$i.out; done\n", [("srun", 4, 2, 4, 0)],
    ),
    "a here document in another": (
        f'{HEAD}in=$(cat <<EOF\ncat <<EOF2 > x\nray\nEOF2\nexit 1\nEOF\n)\nsrun -n 4 sh -c "$in"\n', [("srun", 4, 2, 4, 0)],
    ),
    "one rank is on one node": (f"{HEAD}mpirun -n 1 ./mesh\nsrun ./a\n", [("mpirun", 1, 1, 4, 0), ("srun", 16, 2, 4, 0)]),
    "one rank of a job whose nodes are not said": ("#!/bin/sh\n#SBATCH --gres=gpu:2\nsrun -n 1 ./a\n", [("srun", 1, 1, 1, 2)]),
    "a few ranks fill the first node": (
        "#!/bin/sh\n#SBATCH -N 8\n#SBATCH --ntasks-per-node=2\nmpirun -n 4 ./a\n", [("mpirun", 4, 2, 1, 0)],
    ),
    "a few ranks, and nobody says what fills a node": ("#!/bin/sh\n#SBATCH -N 8\nmpirun -n 4 ./a\n", [("mpirun", 4, None, 1, 0)]),
    "GPUs of a task, from the header": (
        "#!/bin/sh\n#SBATCH -N 2\n#SBATCH -n 8\n#SBATCH --gpus-per-task=1\nfor n in 1 2; do srun -n $n ./a; done\n",
        [("srun", [1, 2], [1, 2], 1, [1, 2])],
    ),
    "threads of nested regions": (f'{HEAD}export OMP_NUM_THREADS="2,8"\nsrun ./a\n', [("srun", 16, 2, 16, 0)]),
    "a number of nodes that is not known": (f"{HEAD}F=3\nsrun -N $((SLURM_NNODES-FAILED)) -n 4 ./a\n", [("srun", 4, None, 4, 0)]),
    "a tool before the launcher": (
        "#!/bin/sh\n#SBATCH -N 1\n#SBATCH -n 4\nscan -t ibrun ./a\nnsys profile -o x srun ./a\n",
        [("ibrun", 4, 1, 1, 0), ("srun", 4, 1, 1, 0)],
    ),
    "Grid Engine's variables": (
        "#$ -pe mpi 16\n#$ -v OMP_NUM_THREADS=4\nmpirun -np `expr $NSLOTS / $OMP_NUM_THREADS` ./a\n", [("mpirun", 4, None, 4, 0)],
    ),
    "sbatch's variables": (f"{HEAD}#SBATCH --export=ALL,RANKS=6\nsrun -n $RANKS ./a\n", [("srun", 6, 2, 4, 0)]),
    "Fugaku": (
        ("#PJM --rsc-list node=2\n#PJM --mpi proc=8\nexport SCAN_ANALYZE_OPTS=-i OMP_NUM_THREADS=4\n"
        "mpiexec -n $PJM_MPI_PROC ./a\n"),
        [("mpiexec", 8, 2, 4, 0)],
    ),
    "LSF's GPUs of a task": ('#BSUB -n 8\n#BSUB -gpu "num=1/task"\nmpirun -n 8 ./a\n', [("mpirun", 8, None, 1, 8)]),
    "aprun as its job": ("#!/bin/sh\n#SBATCH -N 5\n#SBATCH --ntasks-per-node=2\naprun -B ./a\n", [("aprun", 10, 5, 1, 0)]),
    "aprun says the nodes": ("#PBS -l mppwidth=128\naprun -n 128 -N 4 ./a\n", [("aprun", 128, 32, 1, 0)]),
    "charmrun reads its options behind the program": (
        ("#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=128\n"
        "charmrun ++runscript ./run.sh ./a ++p $((SLURM_NPROCS-8)) ++ppn 31 +pemap 1-31\n"), [("charmrun", 8, 2, 31, 0)],
    ),
    "parts of a heterogeneous job": (
        ("#!/bin/sh\n#SBATCH -N 4\n#SBATCH --ntasks-per-node=2\n#SBATCH -c 8\n#SBATCH hetjob\n#SBATCH -n 3\n#SBATCH -c 8\n"
        "srun ./a\nsrun --het-group=1 ./b\nsrun --pack-group 0 -n 4 ./c\nsrun --het-group=0,1 ./d\n"
        "srun --het-group=0 ./a : --het-group=1 ./b\n"),
        [("srun", 8, 4, 8, 0), ("srun", 3, None, 8, 0), ("srun", 4, 4, 8, 0), ("srun", 11, None, 8, 0),
        ("srun", 11, None, None, 0)],
    ),
    "Moab": ("#MSUB -l nodes=4:ppn=20\n#MSUB -v RANKS=40\nmpirun ./a\nmpirun -n $RANKS ./b\n",
        [("mpirun", 80, 4, 1, 0), ("mpirun", 40, 4, 1, 0)],
    ),
    "arithmetic in a default": (f"{HEAD}P=${{P:-3}}\nsrun -n ${{N:-$((P * 2))}} ./a\n", [("srun", 6, 2, 4, 0)]),
    "threads of several workers": (
        f"{HEAD}#SBATCH --gpus-per-node=4\nsrun -n 2 --ntasks-per-node=1 torchrun --nproc_per_node=4 t.py\n",
        [("srun", 8, 2, 1, 8)],
    ),
    "agents with their options in an array, some of them not known": (
        ("#!/bin/sh\n#SBATCH -N 4\n#SBATCH --ntasks-per-node=1\nH=$(scontrol show hostnames | head -n1)\n"
        "A=(--nnodes $SLURM_NNODES # all of them\n --nproc_per_node 8)\nA+=(--rdzv_endpoint $H:1)\n"
        'srun /opt/watched torchrun "${A[@]}" t.py\n'), [("srun", 32, 4, 1, None)],
    ),
    "as many as there are hosts": (
        ("#!/bin/sh\n#SBATCH -N 4\n#SBATCH --ntasks-per-node=2\nnodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )\n"
        "srun -n $((${#nodes[@]} * 2)) ./a\n"), [("srun", 8, 4, 1, 0)],
    ),
    "as many as there are files, which nobody knows": (
        "#!/bin/sh\n#SBATCH -N 2\nfiles=(*.in)\nmpirun -np ${#files[@]} ./a\n", [("mpirun", None, 2, 1, 0)]
    ),
    "as many as the script is given": (f'{HEAD}F=("$@")\nsrun -n ${{#F[@]}} ./a\n', [("srun", None, 2, 4, 0)]),
    "as many as another array has, and one": (
        f'{HEAD}F=("${{OTHER[@]}}" x)\nsrun -n ${{#F[@]}} ./a\n', [("srun", None, 2, 4, 0)]
    ),
    "as many as a loop finds": (
        (f'{HEAD}F=()\nfor f in *.in; do F+=("$f"); done\nsrun -n ${{#F[@]}} ./a\n'
        'G=()\nwhile read -r g; do G+=("$g"); done < hosts\nsrun -n ${#G[@]} ./b\n'),
        [("srun", None, 2, 4, 0), ("srun", None, 2, 4, 0)],
    ),
    "a list that doubles again and again": (
        f"{HEAD}A=(a b)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40 + "srun ./a\n", [("srun", 16, 2, 4, 0)]
    ),
    "a program in a variable, its own options behind it": (
        "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\nsrun torchrun $SCRIPT --lr 1\n",
        [("srun", 2, 2, 1, 16)],
    ),
    "agents whose options nobody knows": (
        '#!/bin/sh\n#SBATCH -N 4\n#SBATCH --gpus-per-node=8\nsrun torchrun "$@"\n', [("srun", None, 4, None, 32)]
    ),
    "an option that is empty or only watches": (
        "#!/bin/sh\n#SBATCH -N 4\nR=\nif [ -d /opt/x ]; then R=--auto-resume=1; fi\nsrun $R ./a\n", [("srun", 4, 4, None, 0)]
    ),
    "nodes behind another resource": ("#PBS -l walltime=1:00:00,nodes=2:ppn=4\nmpirun ./a\n", [("mpirun", 8, 2, 1, 0)]),
    "nodes before another resource": ("#PBS -l nodes=2,walltime=1:00:00\nmpirun ./a\n", [("mpirun", 2, 2, 1, 0)]),
    "an image that is built is no launcher": (
        "#!/bin/sh\n#SBATCH -n 2\ndocker build -t deepspeed .\nsrun ./a\n", [("srun", 2, None, 1, 0)]
    ),
    "workers, and what their line holds is not all known": (
        ("#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=4\n"
        'export RUN="python -m torch.distributed.run --nproc_per_node 4 --rdzv_endpoint $(hostname):6000"\n'
        "srun bash -c '$RUN --node_rank $SLURM_PROCID t.py'\n"), [("srun", 8, 2, 1, 8)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_what_a_line_starts(name: str) -> None:
    """Counts come from the line, its variables and the header; an unknown value is None and nothing else is."""
    text, wanted = COUNTS[name]
    assert counts(text) == wanted


OMP = "export OMP_NUM_THREADS=4\n"
FAULTY: dict[str, tuple[str, str]] = {
    "directive-number": ("#!/bin/sh\n#SBATCH --nodes=$N\nsrun -n 2 ./a\n", "no correction"),
    "directive-words": ("#!/bin/sh\n#SBATCH -p { queue }\nsrun -n 2 ./a\n", "no correction"),
    "directive-twice": ("#!/bin/sh\n#SBATCH --nodes=1\n#SBATCH --nodes=2\nsrun ./a\n", ""),
    "directive-ignored": (f"{HEAD}cd x\n#SBATCH --gpus-per-node=1\nsrun ./a\n", ""),
    "not-sbatch-option": (f"{HEAD}#SBATCH --cpu-bind=cores\nsrun ./a\n", ""),
    "option-unknown": ("#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-nodes=4\nsrun ./a\n", ""),
    "one-word": (f'{HEAD}srun "sh ./a 1"\nsrun -n 2 "sleep 5; ./b"\n', ""),
    "syntax-error": (f'{HEAD}A="x\nsrun ./a\n', "no correction"),
    "option-shortened": ("#!/bin/sh\n#SBATCH --nodes=2\n#SBATCH --tasks=14\nmpirun ./a\n", ""),
    "hint-unknown": (f"{HEAD}#SBATCH --hint=exclusive\nsrun ./a\n", ""),
    "no-shebang": ("#SBATCH -n 2\nsrun ./a\n", ""),
    "gpu-bind-unread": (f"{HEAD}#SBATCH --gpu-bind=closest\nmpirun ./a\n", ""),
    "gpus-asked-twice": (f"{HEAD}#SBATCH --gres=gpu:4\n#SBATCH --gpus-per-node=4\n#SBATCH --gpus=8\nsrun ./a\n", ""),
    "not-exported": (f"{HEAD}OMP_NUM_THREADS=4\nsrun ./a\n", ""),
    "blank-around-equals": (f"{HEAD}MODE = fast\nsrun ./a\n", ""),
    "blank-in-value": (f"{HEAD}export UCX_TLS=self, tcp, A=1\nsrun ./a\n", ""),
    "misspelt-variable": (f"{HEAD}export OMP_NUM_THREAD=4\nsrun ./a\n", ""),
    "stacksize-unit": (f"{HEAD}export OMP_STACKSIZE=512\nsrun ./a\n", ""),
    "variable-empty": ("#!/bin/sh\n#SBATCH -n 4\nexport OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun ./a\n", ""),
    "variable-unset": ("#PBS -l nodes=2:ppn=8\nRANKS_PER_NODE=4\nmpirun -perhost $MPIRANKS_PER_NODE -n 8 ./a\n", ""),
    "binding-unused": (f"{HEAD}CPU_BIND=map_cpu:1,2,3,4\nsrun ./a\n", ""),
    "serial-program": (f"{HEAD}srun gmx_mpi grompp -f a\n", ""),
    "tasks-idle": ("#!/bin/sh\n#SBATCH -N 2\n#SBATCH -n 64\nmpirun -np 1 ./a : -np 3 ./b\n", ""),
    "nodes-idle": ("#PBS -l select=8\nmpirun -n 24 -ppn 24 ./a\n", ""),
    "no-mpiprocs": ("#PBS -l select=1:ncpus=64\nmpirun -n 64 ./a\n", ""),
    "cpus-unlike": ("#PBS -l select=4:ncpus=256\nmpiexec -n 32 --ppn 8 --depth=8 --cpu-bind depth ./a\n", ""),
    "too-many-threads": ("#!/bin/sh\n#SBATCH -n 8\n#SBATCH -N 1\nexport OMP_NUM_THREADS=4\nsrun ./a\n", ""),
    "threads-squared": ("#PBS -q x\nN=`wc -l < $PBS_NODEFILE`\nexport OMP_NUM_THREADS=$N\nmpirun -np $N ./a\n", ""),
    "one-core": (
        "#!/bin/sh\n#SBATCH -n 2\n#SBATCH -c 4\nmodule load openmpi/4.1.5\nexport OMP_NUM_THREADS=4\nmpirun -np 2 ./a\n",
        "",
    ),
    "ranks-over-tasks": ("#!/bin/sh\n#SBATCH -n 1\n#SBATCH -c 16\nmpirun --oversubscribe -np 16 ./a\n", ""),
    "nodes-beyond": (f"{HEAD}srun -N 4 ./a\n", ""),
    "same-cores": (
        f"{HEAD}srun --overlap --cpu-bind=map_cpu:0,2,4,6 ./a &\nsrun --overlap --cpu-bind=map_cpu:0,2,4,6 ./b\nwait\n",
        "",
    ),
    "steps-wait": ("#!/bin/sh\n#SBATCH -n 8\nsrun -n 4 ./a &\nsrun -n 4 ./b &\nwait\n", ""),
    "list-odd-one": (f"{HEAD}srun --cpu-bind=map_cpu:49,57,17,23,1,9,33,41 ./a\n", ""),
    "gpu-order": (
        "#!/bin/sh\n#SBATCH -N 1\n#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-node=8\nmodule load rocm\nsrun ./a\n",
        "",
    ),
    "gpu-numbers": (f"{HEAD}#SBATCH --gpus-per-node=2\nexport CUDA_VISIBLE_DEVICES=0,1,2,3\nsrun ./a\n", ""),
    "gpu-for-all": (f"{HEAD}#SBATCH --gpus-per-node=8\nexport CUDA_VISIBLE_DEVICES=$SLURM_LOCALID\nsrun ./a\nsrun ./b\n", ""),
    "expanded-early": (f'{HEAD}srun bash -c "numactl -N $SLURM_LOCALID ./a"\n', ""),
    "ranks-unbound": (f"{HEAD}{OMP}mpirun --map-by node --bind-to none -np 16 ./a\nsrun --cpu-bind=none ./a\n", ""),
    "gpus-idle": (
        "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --gpus-per-node=4\nsrun bash -c 'export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID; ./a'\n",
        "",
    ),
    "torchrun-alone": ("#!/bin/sh\n#SBATCH -N 2\ntorchrun --nnodes 2 --nproc_per_node 4 t.py\n", ""),
    "steps-not-awaited": ("#!/bin/sh\n#SBATCH -n 8\nsrun --exact -n 4 ./a &\nsrun --exact -n 4 ./b &\necho done\n", ""),
    "agents-many": (
        (f"{HEAD}#SBATCH --gpus-per-node=8\nexport OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\n"
        "srun torchrun --nproc_per_node=8 --nnodes=2 t.py\n"),
        "",
    ),
    "no-shared-memory": (f"{HEAD}mpirun -np 16 --mca btl tcp,self ./a\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_found_and_mended(name: str) -> None:
    """Each script has its one kind of fault, with the line's number; the corrected script has none."""
    text, how = FAULTY[name]
    found = checked(text)
    assert {fault.id for fault in found.faults} == {name}
    assert all(fault.line >= 1 and fault.what and fault.why and fault.fix for fault in found.faults)
    if how:
        assert found.corrected is None
        return
    assert found.corrected
    assert ids(found.corrected) == []
    assert found.patch.startswith("--- job.sh")


CLEAN = {
    "a GPU that each rank takes itself": (
        f"{HEAD}#SBATCH --gpus-per-node=8\nsrun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID exec ./a'\n"
        "cat > w.sh <<'EOF'\nexport CUDA_VISIBLE_DEVICES=$SLURM_LOCALID\nexec \"$@\"\nEOF\nsrun ./w.sh ./a\n"
    ),
    "a GPU of the batch shell that Slurm sets anew, or one rank has": (
        f"{HEAD}#SBATCH --gpus-per-node=8\nexport CUDA_VISIBLE_DEVICES=$SLURM_LOCALID\n"
        "srun -n 16 --gpus-per-task=1 ./a\nsrun -n 2 --ntasks-per-node=1 ./a\nsrun -n 16 ./my_wrapper.sh ./a\n"
    ),
    "a rank's number that one rank has, or a backslash keeps": (
        f'{HEAD}srun -n 1 ./a $SLURM_PROCID\nsrun bash -c "exec ./a \\$SLURM_PROCID"\n'
    ),
    "unbound ranks that something else binds, or that have a node each": (
        f"{HEAD}{OMP}mpirun --bind-to none -np 16 numactl -l ./a\nmpirun --bind-to none -np 16 gmx_mpi mdrun\n"
        "mpirun --bind-to none -np 2 --npernode 1 ./a\n"
    ),
    "a variable that is only printed": "#!/bin/sh\n#SBATCH -n 4\necho $SLURM_CPUS_PER_TASK\nsrun ./a\n",
    "directives of another script": f"{HEAD}srun ./a\nsbatch <<EOF\n#!/bin/sh\n#SBATCH -n 3\nsrun ./b\nEOF\n",
    "a wrapper that places ranks itself": (
        "#!/bin/sh\n#SBATCH -N 1\n#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-node=8\nmodule load rocm\n"
        "cat > w <<EOF\nexec numactl -N \\$SLURM_LOCALID \\$*\nEOF\nsrun ./w ./a\n"
    ),
    "one rank that starts the others": "#!/bin/sh\n#SBATCH -N 1\n#SBATCH -n 16\nmpirun -np 1 Rscript snow.R\n",
    "a here document that the end of the script ends": f"{HEAD}srun ./a\ncat <<EOF\nx\n",
    "what stands behind the end of a script": f"{HEAD}srun ./a\nexit 0\nNotes (not shell\n",
    "patterns that the script switches on": f"{HEAD}shopt -s extglob\nrm -f !(in|data)\nsrun ./a\n",
    "a federation's cluster": f"{HEAD}#SBATCH --cluster=genius\nsrun ./a\n",
    "programs in a file": f'{HEAD}srun --multi-prog "my conf; x.conf"\n',
    "torchrun that is only printed": f"{HEAD}#SBATCH --gpus-per-node=8\nsrun echo torchrun --nproc_per_node=8\n",
    "an option of a site's plugin": f"{HEAD}#SBATCH --private-scratch=yes\nsrun ./a\n",
    "a program with a blank in its name": f'{HEAD}srun "./my program" --all\n',
    "a loop over files of hosts": (
        "#PBS -l select=8\nfor f in local_hostfile*; do\nmpiexec -n 24 -ppn 12 --hostfile $f ./a\ndone\n"
    ),
    "one agent of a node that has all its CPUs": (
        "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH --exclusive\n#SBATCH --gpus-per-node=8\n"
        "export OMP_NUM_THREADS=8\nsrun torchrun --nnodes 2 --nproc_per_node 8 t.py\n"
    ),
    "transports of a benchmark whose data NCCL carries": f"{HEAD}mpirun --mca btl tcp,self /opt/all_reduce_perf -b 8\n",
    "placeholders of a page": "#!/bin/sh\n#SBATCH -A <my project>\n#SBATCH -n 2\nsrun ./a <input file>\n",
    "bound by sockets": f"{HEAD}srun --cpu-bind=map_cpu:0,1,2,3,4,5,6,7 ./a\n",
    "steps that share": "#!/bin/sh\n#SBATCH -n 8\nsrun --exact -n 4 ./a &\nsrun --overlap -n 4 ./b &\nwait\n",
    "a step after a wait": "#!/bin/sh\n#SBATCH -n 8\nsrun ./a & p=$!\nwait $p\nsrun ./b &\nwait\n",
    "one rank with the node": "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\nexport OMP_NUM_THREADS=64\nsrun ./a\n",
    "a variable that goes on by -x": f"{HEAD}OMP_NUM_THREADS=4\nmpirun -x OMP_NUM_THREADS -np 8 ./a\n",
    "two torchruns on a node, each with its GPUs": (
        "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=2\n#SBATCH --gpus-per-node=8\nsrun torchrun --nproc_per_node=4 t.py\n"
    ),
    "a step in front after those in the background": f"{HEAD}srun --overlap -n 1 ./watch &\nsrun --overlap ./a\n",
    "a pause after steps in the background": f"{HEAD}srun -n 1 ./a &\nsleep 3600\n",
    "a wait in a function": f"{HEAD}all() {{ wait; }}\nsrun -n 1 ./a &\nall\n",
    "a wait at the end, whichever that is": f"{HEAD}trap wait EXIT\nsrun -n 1 ./a &\necho on\n",
    "a loop that looks whether steps are there": f"{HEAD}srun -n 1 ./a & p=$!\nwhile kill -0 $p; do :; done\n",
    "no scheduler": "mpirun -np 2 ./a &\necho on\n",
    "cores of a rank beside --bind-to core": f"{HEAD}{OMP}mpirun -np 16 --map-by socket:PE=4 --bind-to core ./a\n",
    "cores of a rank in a variable": (
        f"{HEAD}{OMP}export OMPI_MCA_rmaps_base_mapping_policy=slot:PE=4\nmpirun -np 16 --bind-to core ./a\n"
    ),
    "one thread of a rank": "#!/bin/sh\n#SBATCH -n 16\nexport OMP_NUM_THREADS=1\nmpirun -np 16 --bind-to core ./a\n",
    "a comment behind a directive without a blank": "#!/bin/sh\n#SBATCH --ntasks=4# as many as fit\nsrun ./a\n",
    "whole nodes have more CPUs than tasks": (
        f"#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\n#SBATCH --exclusive\n{OMP}mpirun -np 8 ./a\n"
    ),
    "all tasks with threads of nested regions": (
        "#!/bin/sh\n#SBATCH -N 9\n#SBATCH --ntasks-per-node=1\n#SBATCH -c 32\nexport OMP_NUM_THREADS=2,16\nsrun ./a\n"
    ),
    "ranks of a node, as the line says them": "#PBS -l select=8:ncpus=12\nmpiexec -ppn 2 -np 9 ./a &\nmpiexec -ppn 12 -np 96 ./b",
    "steps beside each other, each on nodes of its own": (
        "#!/bin/sh\n#SBATCH -N 3\n#SBATCH -n 3\nsrun -N 1 -n 1 ./head &\n"
        "for ((i = 2; i <= SLURM_NNODES; i++)); do srun -N 1 -n 1 ./worker & done\nwait\n"
    ),
    "one rank more than GPUs, on a core of its own": (
        "#!/bin/sh\n#SBATCH -N 1\n#SBATCH -n 5\nsrun --cpu-bind=map_cpu:24,16,8,0,23 ./a\n"
    ),
    "another program's variable": f"{HEAD}{OMP}export OMP_NUM_THREADS_CH=2\nsrun ./a\n",
    "a count that a sourced file may set": (
        "#PBS -l nodes=2:ppn=8\n. ./settings.sh\nRANKS_PER_NODE=4\nmpirun -perhost $MPIRANKS_PER_NODE -n 8 ./a\n"
    ),
    "numbers that a template leaves open": "#!/bin/sh\n#SBATCH -N %NODES%\n#SBATCH -n __TASKS__\nsrun ./a\n",
    "two branches of a template": (
        "#!/bin/sh\n{% if gpu %}\n#SBATCH -p gpu\n{% else %}\n#SBATCH -p cpu\n{% endif %}\n#SBATCH -n 4\nsrun ./a\n"
    ),
    "a heterogeneous job": (
        "#!/bin/sh\n#SBATCH -N 1 -n 3\n#SBATCH hetjob\n#SBATCH -N 2 -n 8\nsrun --het-group=1 -N 2 ./b &\nsrun ./a &\nwait\n"
    ),
    "a template of Jinja": (
        "{% extends 'base.sh' %}\n{% block head %}\n#SBATCH --nodes {{ n | default(1) }}\n#SBATCH --ntasks-per-node 2\n"
        "{% endblock %}\nsrun ./a\n"
    ),
    "threads that Charm++ binds itself": (
        "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH -c 128\nmodule load openmpi/4.1.6\n"
        "mpirun -n 2 ./a ++ppn 127 +setcpuaffinity\n"
    ),
    "threads by ppr": f"{HEAD}{OMP}mpirun -np 16 --map-by ppr:8:node:PE=4 ./a\n",
}


def test_unbound_ranks_whose_threads_openmp_pins_share_the_first_cores() -> None:
    """OMP_PROC_BIND counts from the first CPU of a rank, and unbound ranks have all of them."""
    found = checked(f"{HEAD}{OMP}export OMP_PROC_BIND=close\nmpirun --bind-to none -np 16 ./a\n")
    assert [(fault.id, fault.severity, fault.line) for fault in found.faults] == [("ranks-unbound", "high", 7)]


def test_a_rank_that_is_exported_is_everybodys() -> None:
    """What torch.distributed reads as RANK is 0 everywhere where the batch shell sets it, and no wrapper sets it anew."""
    head = f"{HEAD}export RANK=$SLURM_PROCID\n"
    assert [(fault.id, fault.severity, fault.line) for fault in checked(f"{head}srun python t.py\n").faults] == [
        ("expanded-early", "medium", 5)
    ]
    assert ids(f"{head}srun ./wrapper.sh python t.py\nsrun -n 1 python t.py\n") == []


def test_the_gpu_of_a_corrected_script_is_the_local_ranks() -> None:
    """The number across nodes becomes that on the node, more ranks than GPUs share them, and the batch shell sets it no more."""
    head = f"{HEAD}#SBATCH --gpus-per-node=4\n"
    found = checked(f"{head}export CUDA_VISIBLE_DEVICES=$SLURM_PROCID\nsrun ./a\n")
    assert [fault.line for fault in found.faults] == [6]
    assert found.corrected == f"{head}srun bash -c 'CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID % 4)) exec \"$@\"' - ./a\n"


def test_threads_that_the_job_has_cpus_for_need_only_the_steps() -> None:
    """NAMD's ++ppn on one of 14 tasks: the step is given the job's CPUs, and no more are asked for."""
    head = "#!/bin/sh\n#SBATCH -N 1\n#SBATCH --ntasks-per-node=14\n#SBATCH --cpus-per-task=1\n"
    found = checked(f"{head}srun -n 1 namd2 ++ppn 13 in.conf\n")
    assert [fault.id for fault in found.faults] == ["too-many-threads"]
    assert found.corrected == f"{head}srun -c 13 -n 1 namd2 ++ppn 13 in.conf\n"


def test_more_cpus_of_a_task_are_not_asked_for_where_few_ranks_start() -> None:
    """28 tasks of a node with six CPUs each would never get a node."""
    text = "#!/bin/sh\n#SBATCH -N 4\n#SBATCH --ntasks-per-node=28\nexport OMP_NUM_THREADS=6\nmpirun -np 20 ./a\n"
    assert [(fault.id, fault.corrected) for fault in checked(text).faults] == [("too-many-threads", False)]


def test_torchrun_alone_in_a_job_of_many_nodes_leaves_them_idle() -> None:
    """Nothing starts it on the others, and it is not told of them."""
    assert ids("#!/bin/sh\n#SBATCH -N 8\ntorchrun --nproc_per_node=8 t.py\n") == ["nodes-idle"]


def test_places_of_a_correction_are_those_of_the_script() -> None:
    """Words that are read with braces are not written with them."""
    text = f"{HEAD}A=x; echo $A/b$A.d\nsrun -o $A/l-$A.log gmx_mpi grompp -f $A/in.$A.mdp\n"
    assert checked(text).corrected == text.replace("srun -o", "srun -n 1 -o")


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_right_is_not_complained_of(name: str) -> None:
    """No fault where there is none."""
    assert ids(CLEAN[name]) == []


BOUND_TO_ONE = {
    "mpirun -np 16 --bind-to core ./a": "mpirun -np 16 --map-by slot:PE=$OMP_NUM_THREADS --bind-to core ./a",
    "mpirun -np 16 --map-by core --bind-to core ./a": "mpirun -np 16 --map-by slot:PE=$OMP_NUM_THREADS --bind-to core ./a",
    "mpirun --map-by ppr:4:socket -bind-to hwthread -np 16 ./a": (
        "mpirun --map-by ppr:4:socket:PE=$OMP_NUM_THREADS --bind-to core -np 16 ./a"
    ),
    "OMP_NUM_THREADS=3 mpirun -np 16 --bind-to core ./a": (
        "OMP_NUM_THREADS=3 mpirun -np 16 --map-by slot:PE=3 --bind-to core ./a"
    ),
    "export OMPI_MCA_hwloc_base_binding_policy=core; mpirun -np 16 ./a": (
        "export OMPI_MCA_hwloc_base_binding_policy=core; mpirun --map-by slot:PE=$OMP_NUM_THREADS --bind-to core -np 16 ./a"
    ),
    "module load mpich; mpirun -np 16 -bind-to core ./a": ("module load mpich; mpirun -np 16 -bind-to core:$OMP_NUM_THREADS ./a"),
}


@pytest.mark.parametrize("line", BOUND_TO_ONE)
def test_threads_of_a_rank_that_its_line_binds_to_one_core(line: str) -> None:
    """Seen without a machine; the correction keeps the ranks and gives each as many cores as threads."""
    found = checked(f"{HEAD}{OMP}{line}\n")
    assert [(fault.id, fault.severity) for fault in found.faults] == [("one-core", "high")]
    assert found.corrected == f"{HEAD}{OMP}{BOUND_TO_ONE[line]}\n"
    assert ids(found.corrected) == []


@pytest.mark.parametrize(("hosts", "kept"), [("", ""), ("--hostfile hf ", "--hostfile hf "), ("--npernode 8 ", "")])
def test_a_better_line_has_the_ranks_of_all_nodes(hosts: str, kept: str) -> None:
    """A line is worked out for one node's ranks; the correct text starts as many as before, on the same hosts."""
    head = "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=8\n#SBATCH -c 16\nmodule load openmpi/4.1.5\n"
    text = f"{head}export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nmpirun {hosts}-np 16 --map-by numa --bind-to l3cache ./a\n"
    found = checked(text, machine=machine("b-c6525-2x7702-nps4"))
    (fault,) = [fault for fault in found.faults if fault.id == "too-many-threads"]
    assert fault.fix == f"OMP_NUM_THREADS=16 mpirun -np 16 --map-by ppr:1:numa:PE=16 --bind-to core {kept}./a"


def test_where_a_wait_is_missing_it_stands_behind_the_statement() -> None:
    """Behind the loop, not in it; where the script ends in the statement itself no line is written."""
    loop = f"{HEAD}for i in 1 2; do\n  srun --exact -n 1 ./a $i &\ndone\n"
    assert checked(f"{loop}echo on\n").corrected == f"{loop}wait\necho on\n"
    ending = checked(f"{HEAD}if true; then\nsrun --exact -n 1 ./a &\nexit\nfi\n")
    assert [fault.id for fault in ending.faults] == ["steps-not-awaited"]
    assert ending.corrected is None


AGENTS = {
    "srun -n 16 --gpus-per-task=1 python -m torch.distributed.run --nproc_per_node=8 t.py": "agents-many",
    "srun accelerate launch --num-processes 16 --num_machines 2 t.py": "agents-many",
    "srun deepspeed --num_gpus=8 t.py": "agents-many",
    "srun torchrun --nproc_per_node gpu t.py": "agents-many",
    "mpirun torchrun --nproc_per_node 8 t.py": "agents-many",
    "srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes 2 --nproc_per_node 8 t.py": "",
    "srun torchrun t.py": "",
    "srun accelerate launch t.py": "",
}


@pytest.mark.parametrize("line", AGENTS)
def test_what_starts_workers_itself_is_started_once_on_a_node(line: str) -> None:
    """More workers of a node than its GPUs is a fault; what srun starts is corrected with the CPUs and GPUs of all."""
    found = checked(f"{HEAD}#SBATCH --gpus-per-node=8\n{line}\n")
    assert [fault.id for fault in found.faults] == [AGENTS[line]] * bool(AGENTS[line])
    if AGENTS[line] and line.startswith("srun"):
        assert found.corrected
        assert "--ntasks-per-node=1 " in found.corrected
        assert "--cpus-per-task=32" in found.corrected
        step = read(found.corrected).steps[0]
        assert (step.per_node, step.cpus, step.gpus_per_node) == (8, 32, 8)


def test_agents_that_nothing_joins_train_each_by_itself() -> None:
    """One torchrun on each of two nodes without --nnodes is two trainings; the corrected line joins them."""
    head = f"{HEAD}#SBATCH --gpus-per-node=8\n"
    found = checked(f"{head}srun --ntasks-per-node=1 torchrun --nproc_per_node 8 t.py\n")
    assert [(fault.id, fault.severity) for fault in found.faults] == [("torchrun-alone", "high")]
    assert found.corrected
    assert "torchrun --nnodes=$SLURM_NNODES --rdzv_backend=c10d --rdzv_endpoint=$(scontrol show hostnames" in found.corrected
    assert checked(found.corrected).faults == ()
    for meant in ("--standalone", "$ARGS", "--rdzv_backend c10d --node_rank $SLURM_NODEID --rdzv_endpoint $H"):
        assert checked(f"{head}srun --ntasks-per-node=1 torchrun {meant} --nproc_per_node 8 t.py\n").faults == ()


def test_what_the_corrected_script_starts_stands_beside_it() -> None:
    """Of a line that starts something else then; of one that does not, nothing."""
    found = checked(f"{HEAD}#SBATCH --gpus-per-node=8\nsrun torchrun --nproc_per_node=8 --nnodes=2 t.py\nsrun -n 2 ./a\n")
    assert [(step.starts, step.corrected) for step in found.steps] == [
        ("128 ranks on 2 nodes, 1 thread each, 16 GPUs", "16 ranks on 2 nodes, 1 thread each, 16 GPUs"),
        ("2 ranks on 2 nodes, 4 threads each, 16 GPUs", None),
    ]
    assert "    corrected: 16 ranks on 2 nodes, 1 thread each, 16 GPUs" in [text_of(line) for line in check_page(found).lines(80)]


def test_threads_of_workers_are_those_of_each() -> None:
    """Eight workers with the threads of all their CPUs are eight times too many; the corrected number is each one's share."""
    head = "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH -c 96\n#SBATCH --gpus-per-node=8\n"
    found = checked(
        f"{head}export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun -c 96 torchrun --nnodes 2 --nproc_per_node=8 t.py\n"
    )
    assert [fault.what for fault in found.faults] == ["8 workers with 96 threads each share 96 CPUs"]
    assert found.corrected
    assert "export OMP_NUM_THREADS=12\n" in found.corrected
    assert checked(found.corrected).faults == ()


@pytest.mark.parametrize("value", ["$(( SLURM_CPUS_PER_TASK / 2 ))", "${SLURM_CPUS_PER_TASK:- 1}"])
def test_a_value_with_blanks_is_replaced_whole(value: str) -> None:
    """What stands beside it in the same line stays."""
    head = "#!/bin/sh\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n#SBATCH -c 96\n#SBATCH --gpus-per-node=8\n"
    found = checked(f"{head}export OMP_NUM_THREADS={value} FOO=1\nsrun -c 96 torchrun --nnodes 2 --nproc_per_node=8 t.py\n")
    assert found.corrected
    assert "export OMP_NUM_THREADS=12 FOO=1\n" in found.corrected


@pytest.mark.parametrize("line", ['train.py --data "$DATA"', 'train.py "${A[@]}"'])
def test_arguments_of_the_training_do_not_join_agents(line: str) -> None:
    """Variables behind the program are none of torchrun's options."""
    head = "#!/bin/sh\n#SBATCH -N 4\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\nA=(--lr 1)\n"
    assert ids(f"{head}srun torchrun --nproc_per_node=8 {line}\n") == ["torchrun-alone"]


def test_of_two_steps_in_a_line_the_one_without_exact_waits() -> None:
    """Its neighbour says that it shares."""
    found = checked("#!/bin/sh\n#SBATCH -n 8\nsrun --exact -n 1 ./a & srun -n 1 ./b &\nwait\n")
    assert found.corrected == "#!/bin/sh\n#SBATCH -n 8\nsrun --exact -n 1 ./a & srun --exact -n 1 ./b &\nwait\n"


def test_behind_an_open_quote_nothing_is_said() -> None:
    """What stands there is read by nobody: no step, no other fault, no correction."""
    found = checked(f'{HEAD}srun ./a\nA="x\nOMP_NUM_THREADS=4\nsrun ./b\n')
    assert [(fault.id, fault.line) for fault in found.faults] == [("syntax-error", 6)]
    assert ([step.line for step in found.steps], found.corrected) == ([5], None)


def test_a_farm_of_lines_takes_seconds_and_shows_the_first() -> None:
    """Two thousand steps beside each other: half of their pairs are a million."""
    text = "#!/bin/sh\n#SBATCH -n 128\n" + "".join(f"srun -n 1 ./a {at} &\n" for at in range(1900)) + "wait\n"
    found = checked(text)
    assert ([fault.id for fault in found.faults[:1]], len(found.faults), len(found.steps)) == (["steps-wait"], 1900, 1900)
    lines = [text_of(line) for line in check_page(found).lines(80)]
    assert "  1840 more launch lines; --json lists every one" in lines
    assert lines[1] == "lines 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 and 1888 more steps-wait"


def test_an_output_with_a_script_in_it_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grammar does not end on it."""
    monkeypatch.setattr(grammar, "_LONGEST", 0.0)
    text = "(TACC) #$ -pe 16way\n" + "".join(f"<{at}> 'it (x={at}; `y }} [ \" $(\n" for at in range(9000))
    with pytest.raises(BadInput, match="not a shell script"):
        checked(text)


def test_variables_of_one_word_are_no_program() -> None:
    """-genv NAME=VALUE and -genv NAME VALUE are the same to MPICH's and Intel's mpiexec."""
    for words in ("-genv A=1", "-genv A 1", "-env A=1", "-env A 1", "--genv A=1"):
        found = checked(f"{HEAD}mpirun -np 16 -ppn 8 {words} ./solver input.nml\n")
        assert found.steps[0].program == "./solver input.nml"


def test_what_srun_inherits_depends_on_its_version() -> None:
    """The header's CPUs of a task do not reach srun 22.05 to 23.02; -c on the line is right with all."""
    text = f"{HEAD}export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun ./a\n"
    answers = {version: ids(text, slurm_version=version) for version in ("21.08", "22.05", "23.02.7", "23.11", "24.05", None)}
    wrong = ["cpus-not-inherited"]
    assert answers == {"21.08": [], "22.05": wrong, "23.02.7": wrong, "23.11": [], "24.05": [], None: wrong}
    found = checked(text, slurm_version="23.02")
    assert "+srun -c $SLURM_CPUS_PER_TASK ./a" in found.patch
    gpus = text.replace("export", "#SBATCH --gpus-per-task=1\nexport", 1)
    assert {version: ids(gpus, slurm_version=version) for version in ("22.05", None)} == {"22.05": wrong, None: []}


def test_a_cluster_that_binds_nothing(tmp_path: Path) -> None:
    """TaskPlugin=task/none beside a wished binding is a fault; slurm.conf and scontrol's output say it alike."""
    conf, shown = tmp_path / "slurm.conf", tmp_path / "config"
    conf.write_text("ClusterName=x\nTaskPlugin=task/none\n")
    shown.write_text(
        "Configuration data as of 2026-11-27\nSLURM_VERSION           = 24.05.4\nTaskPlugin              = task/none\n"
    )
    text = f"{HEAD}srun --cpu-bind=cores ./a\n"
    assert [ids(text, slurm_conf=file) for file in (conf, shown)] == [["bind-ignored"], ["bind-ignored"]]
    assert checked(text, slurm_conf=conf).assumed[1] == f"Slurm configuration from {conf}"


@pytest.mark.parametrize(
    ("line", "corrected"),
    [
        ("torchrun --nproc_per_node 8 t.py", "torchrun --nproc_per_node 4 t.py"),
        ("srun torchrun --nproc-per-node=8 t.py", "srun torchrun --nproc-per-node=4 t.py"),
        ("deepspeed --num_gpus=8 t.py", "deepspeed --num_gpus=4 t.py"),
        ("accelerate launch --num_processes 8 t.py", "accelerate launch --num_processes 4 t.py"),
        ("accelerate launch --cpu --num_processes 8 t.py", None),
        ("torchrun --nproc_per_node=gpu t.py", None),
        ("torchrun --nproc_per_node=4 t.py", None),
    ],
)
def test_workers_beyond_the_gpus_of_a_node_are_a_fault(line: str, corrected: str | None) -> None:
    """Each worker takes the GPU of its number: eight on four GPUs end with an error; workers without GPUs do not."""
    found = checked(f"#!/bin/sh\n#SBATCH -N 1\n#SBATCH -n 1\n#SBATCH -c 16\n#SBATCH --gpus-per-node=4\n{line}\n")
    names = [each.id for each in found.faults]
    expected = (["gpu-numbers"], corrected) if corrected else ([], None)
    assert (names, found.corrected.splitlines()[-1] if found.corrected else None) == expected


def test_what_a_template_leaves_open_is_named() -> None:
    """Placeholders of the header and of launch lines are listed before everything else; comments and redirections are not."""
    text = """#!/bin/bash
#SBATCH --nodes=<NODES> # <unused>
#SBATCH -A <project id>
echo <motd> copied
srun <app> < input > output
"""
    named = "placeholders not filled in: <NODES> (line 2), <project id> (line 3), <app> (line 5)"
    assert checked(text).assumed[0] == named


def test_without_a_node_it_is_said_what_is_assumed() -> None:
    """Counts and faults need no machine; placement is unknown, and that is said once."""
    found = checked(f"{HEAD}srun ./a\n", slurm_version=None)
    assert found.assumed[0].startswith("no node to place ranks on")
    assert {step.placed for step in found.steps} == {"not-told"}


@pytest.mark.parametrize(("gpus", "named"), [(4, []), (8, ["node-too-small"])])
def test_what_nodes_of_a_partition_have_is_what_slurm_says(gpus: int, named: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a submit host their cores and GPUs are counted by scontrol, by type and socket too, and nodes of others do not count."""
    node = "NodeName={} CPUTot=128 Sockets=2 CoresPerSocket=32 ThreadsPerCore=2 Gres={} State=IDLE Partitions={}\n"
    shown = node.format("n1", "gpu:h100:4(S:0-1)", "gpu,all") + node.format("n2", "(null)", "cpu,all")
    monkeypatch.setattr("advisor.jobs.slurm.find", lambda _: "/usr/bin/scontrol")
    monkeypatch.setattr("advisor.jobs.slurm.asks_the_network", lambda *_: False)
    monkeypatch.setattr("advisor.jobs.slurm.LiveHost.run", lambda *_: Ran(out=shown.encode()))
    text = f"#!/bin/sh\n#SBATCH -N 1\n#SBATCH -n 4\n#SBATCH -p {{}}\n#SBATCH --gpus-per-node={gpus}\nsrun ./a\n"
    found = checked(text.format("gpu"))
    assert found.assumed[0].startswith("scontrol: nodes of the partition gpu have 64 cores and 4 GPUs; no node to place ranks on")
    assert [fault.id for fault in found.faults if fault.id == "node-too-small"] == named
    assert checked(text.format("all")).assumed[0].startswith("scontrol: nodes of the partition all have 64 cores; ")


def test_with_a_node_ranks_are_placed() -> None:
    """A capture of a node of the job says where ranks go, and what that machine makes of the line."""
    found = check("job.sh", machine("b-c6525-2x7702-nps4"), text=f"{HEAD}srun -c 4 --cpu-bind=cores ./a\n", slurm_version="24.05")
    assert found.steps[0].placed == "simulated"
    assert found.steps[0].placement is not None
    assert len(found.steps[0].placement) == 16


def test_the_environment_counts_for_a_line() -> None:
    """In a job a bare srun has the job's tasks; what the line says itself is not replaced."""
    inside = {"SLURM_NTASKS": "16", "OMP_NUM_THREADS": "16", "HOME": "/root"}
    assert surroundings(["srun", "./a"], inside) == ["OMP_NUM_THREADS=16", "SLURM_NTASKS=16", "srun", "./a"]
    assert surroundings(["OMP_NUM_THREADS=2", "mpirun", "./a"], inside) == ["OMP_NUM_THREADS=2", "mpirun", "./a"]


def test_a_script_without_directives_is_run_in_the_job_that_it_is_checked_in() -> None:
    """A shell script inside an allocation has its tasks; one for a scheduler has its own header alone."""
    inside = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "16", "SLURM_JOB_NUM_NODES": "2"}
    plain = check("run.sh", text="srun ./a\nmpirun ./b\n", environment=inside)
    assert [(step.ranks, step.nodes) for step in plain.steps] == [(16, 2), (16, 2)]
    assert check("job.sh", text=f"{HEAD}#SBATCH --array=1-9\nsrun ./a\n", environment={"SLURM_NTASKS": "3"}).steps[0].ranks == 16
    assert checked(f"{HEAD}#SBATCH --array=1-9\nsrun ./a\n").job.array == "1-9"


def test_options_may_be_shortened_as_getopt_has_it() -> None:
    """The begin of a long option stands for it where it is no other's."""
    assert [long_name(name) for name in ("tasks", "cpus-per-t", "ntasks-per-n", "err", "uenv")] == [
        "ntasks-per-node", "cpus-per-task", "ntasks-per-node", "error", "uenv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#!/bin/sh\n" + "(" * 5000,
        "#!/bin/sh\nwhile :; do srun ./a; done\n",
        "f() { f; srun ./a; }\nf\n",
        "\ue000x\ue001 srun ./a\n",
    ],
)
def test_what_is_hostile_is_read_or_refused_in_one_line(text: str) -> None:
    """Nothing hangs, nothing is run, and no text is taken for our own signs."""
    said: list[str] = []
    try:
        checked(text)
    except BadInput as error:
        said.append(str(error))
    assert not any("\n" in each for each in said)


TWO = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks=8\nsrun -n 4 --exact ./a &\nsrun -n 4 --exact ./b &\n"


@pytest.mark.parametrize(
    ("tail", "left"),
    [("wait\n", []), ("wait -n\n", ["steps-not-awaited"]), ("wait -n\nwait\n", []), ("while wait -n; do :; done\n", [])],
)
def test_wait_n_waits_for_one_step(tail: str, left: list[str]) -> None:
    """The other still runs when the script ends; in a loop it waits for each."""
    assert [name for name in ids(f"{TWO}{tail}") if name == "steps-not-awaited"] == left


def test_a_step_with_a_here_document_runs_in_the_background() -> None:
    """The sign stands behind the word that ends the document."""
    found = checked("#!/bin/sh\n#SBATCH -n 8\nsrun ./a <<EOF &\nx & y\nEOF\nsrun ./b\nwait\n")
    assert [(step.program, step.background) for step in found.steps] == [("./a", True), ("./b", False)]


def test_what_ranks_of_a_job_saw_is_its_placement(tmp_path: Path) -> None:
    """Of a script with one launch line, without a node: two ranks share CPU 0."""
    row = "ADVISOR-RANK rank={0} size=2 local={0} host=n1 pid=1 cpus=0-{1} mems=0 policy=default last=0 ucx=- omp=- gpu=-\n"
    (tmp_path / "job.out").write_text(row.format(0, 1) + row.format(1, 1))
    found = checked("#!/bin/sh\n#SBATCH -n 2\nsrun ./a\n", observed=str(tmp_path / "job.out"))
    assert [(step.placed, step.binding) for step in found.steps] == [
        ("observed", "2 ranks on 1 host ran on 2 CPUs each, 2 of them on another rank's CPUs")
    ]
    with pytest.raises(BadInput, match="2 launch lines"):
        checked("#!/bin/sh\n#SBATCH -n 2\nsrun ./a\nsrun ./b\n", observed=str(tmp_path / "job.out"))


@pytest.mark.parametrize("gpus", ["--gpus-per-node=4", "--gpus=8", "--gres=gpu:4"])
def test_ranks_of_each_gpu_are_those_of_all_gpus(gpus: str) -> None:
    """--ntasks-per-gpu without --ntasks: sbatch(1) determines the number from the GPUs."""
    head = f"#!/bin/sh\n#SBATCH --nodes=2\n#SBATCH {gpus}\n#SBATCH --ntasks-per-gpu=2\n"
    assert counts(f"{head}srun ./a\n")[0][:3] == ("srun", 16, 2)
    assert counts(f"{head}#SBATCH --ntasks=4\nsrun ./a\n")[0][:3] == ("srun", 4, 2)


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ("--gpus=8 --ntasks-per-gpu=2", (16, None, 8)),
        ("--gpus-per-node=4 --ntasks-per-gpu=1", (8, None, 8)),
        ("--gres=gpu:a100:4 --ntasks-per-gpu=1 --cpus-per-gpu=12", (8, 12, 8)),
        ("-n 8 --ntasks-per-gpu=2 --cpus-per-gpu=12", (8, 6, 4)),
        ("-n 8 --gpus-per-task=2 --cpus-per-gpu=3", (8, 6, 16)),
        ("-n 8 --gpus=8 --cpus-per-gpu=3", (8, None, 8)),
    ],
)
def test_a_line_counts_ranks_and_cpus_by_gpus(options: str, counted: tuple[int | None, ...]) -> None:
    """Srun --ntasks-per-gpu and --cpus-per-gpu: ranks of all GPUs, CPUs of a rank's own; where these are shared they are open."""
    step = read(f"#!/bin/sh\n#SBATCH -N 2\nsrun {options} ./a\n").steps[0]
    assert (step.ranks, step.cpus, step.gpus) == counted
