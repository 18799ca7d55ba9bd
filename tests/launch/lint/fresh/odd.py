"""Odd words, one or two a line: said twice, by variable and by option, beside what they contradict, or hardly ever written."""

from collections.abc import Callable

from tests.launch.lint.fresh.maker import Maker, Written

Words = Callable[[Maker, Written], tuple[str, ...]]


def with_odd_words(maker: Maker, launcher: str, made: Written) -> Written:
    """Add odd words to a line, its variables before it and its options first."""
    kind = {"openmpi4": _open_mpi4, "openmpi5": _open_mpi5, "mpich": _mpich, "intelmpi": _intel, "srun": _srun}[launcher]
    for word in maker.random.sample(kind(maker, made), maker.random.choice([1, 1, 1, 2])):
        if word and "=" in word.split()[0] and word[0].isupper():
            made.before.append(word)
        else:
            made.words.insert(maker.random.choice([0, 0, len(made.words) if ":" not in " ".join(made.words) else 0]), word)
    return made


def _hosts(maker: Maker, made: Written) -> str:
    return ",".join(maker.random.sample(made.hosts, len(made.hosts))) or "localhost"


def _open_mpi(maker: Maker, made: Written) -> tuple[str, ...]:
    each, other = maker.each(), maker.each()
    return (
        f"--map-by {maker.one('core', 'numa', 'node', 'socket', f'ppr:{each}:numa', f'ppr:{each}:core', f'slot:PE={other}')}",
        f"--bind-to {maker.one('core', 'none', 'numa', 'hwthread', 'socket', 'l3cache', 'core:overload-allowed')}",
        f"--rank-by {maker.one('slot', 'node', 'core', 'numa', 'fill', 'span', 'hwthread')}",
        f"-np {maker.count(len(made.hosts) or 1)}",
        f"-N {each}",
        f"--npernode {each}",
        f"--npersocket {each}",
        f"--cpus-per-proc {other}",
        f"--cpu-set {maker.numbers()}",
        f"--cpu-list {maker.numbers()}",
        "--use-hwthread-cpus",
        "--oversubscribe",
        "--nooversubscribe",
        "--host n1:3" if made.hosts else "--host localhost",
        f"--host {_hosts(maker, made)}",
        f"--host {_hosts(maker, made).replace(',', ':*,')}:*",
        "--map-by seq",
        f"--map-by ppr:{each}:hwthread",
        f"--map-by :PE={other}",
        f"--map-by numa:PE={other}:OVERSUBSCRIBE",
        "--bind-to core --bind-to none",
        "--nolocal",
        "--display-map" if maker.maybe(0.5) else "--display map",
        "--tag-output --timestamp-output",
        "--wdir /tmp",
        "-x A=1 -x B",
        "--mca rmaps seq",
        f"--mca rmaps_base_mapping_policy {maker.one('numa', 'core', f'ppr:{each}:numa', f'socket:PE={other}')}",
        f"--mca hwloc_base_binding_policy {maker.one('numa', 'core', 'none', 'l3cache')}",
    )


def _open_mpi4(maker: Maker, made: Written) -> tuple[str, ...]:
    each = maker.each()
    return (
        *_open_mpi(maker, made),
        "--bynode",
        "--byslot",
        "--bysocket",
        "--bycore",
        "--bind-to-core",
        "--bind-to-none",
        "--bind-to board",
        "--bind-to cpu-list",
        "--bind-to cpu-list:ordered",
        "--map-by board",
        f"--map-by dist:span --mca rmaps_dist_device {maker.one('mlx5_0', 'eth0')}",
        f"--map-by ppr:{each}:numa,ppr:{each}:socket",
        f"--map-by ppr:{each}:numa,PE=2",
        f"OMPI_MCA_rmaps_base_mapping_policy={maker.one('node', 'numa', 'core', f'ppr:{each}:socket', 'slot:PE=2')}",
        f"OMPI_MCA_hwloc_base_binding_policy={maker.one('numa', 'none', 'socket', 'hwthread')}",
        "OMPI_MCA_rmaps_base_oversubscribe=1",
        f"OMPI_MCA_hwloc_base_cpu_list={maker.numbers()}",
        "OMPI_MCA_hwloc_base_use_hwthreads_as_cpus=1",
        "OMPI_MCA_rmaps_base_ranking_policy=node",
        "OMPI_MCA_rmaps_base_inherit=1",
        "OMPI_MCA_orte_hetero_nodes=1",
        "OMPI_MCA_orte_set_default_slots=hwthreads",
    )


def _open_mpi5(maker: Maker, made: Written) -> tuple[str, ...]:
    each = maker.each()
    return (
        *_open_mpi(maker, made),
        f"--map-by package:PE={each}",
        f"--map-by pe-list={maker.numbers()}",
        f"--map-by pe-list={maker.numbers()}:ordered",
        f"--map-by l3cache:pe=2:span:{maker.one('hwtcpus', 'corecpus', 'oversubscribe')}",
        f"--map-by ppr:{each}:package:{maker.one('pe=2', 'span', 'nolocal', 'oversubscribe')}",
        "--map-by node:pe=2",
        "--map-by slot:hwtcpus",
        "--map-by fill",
        "--rank-by package",
        f"PRTE_MCA_rmaps_default_mapping_policy={maker.one('node', 'core', f'ppr:{each}:package', 'slot:PE=2', ':hwtcpus')}",
        f"PRTE_MCA_hwloc_default_binding_policy={maker.one('numa', 'none', 'package', 'hwthread', 'core:overload-allowed')}",
        "PRTE_MCA_rmaps_default_ranking_policy=node",
        "PRTE_MCA_hwloc_use_hwthreads_as_cpus=1",
        f"PRTE_MCA_hwloc_default_cpu_list={maker.numbers()}",
        "PRTE_MCA_prte_set_default_slots=hwthreads",
        "PRTE_MCA_rmaps_base_oversubscribe=1",
        "OMPI_MCA_rmaps_base_mapping_policy=numa",
        "OMPI_MCA_hwloc_base_binding_policy=socket",
        "--mca hwloc_base_use_hwthreads_as_cpus 1",
    )


def _hydra(maker: Maker, made: Written) -> tuple[str, ...]:
    return (
        f"-ppn {maker.each()}",
        "-rr",
        f"-n {maker.count(len(made.hosts) or 1)}",
        f"-hosts {_hosts(maker, made)}",
        f"-host {made.hosts[-1]}" if made.hosts else "-verbose",
        "-genvnone",
        "-genvlist PATH,HOME",
        "-order-nodes ascending",
        "-nolocal",
        f"HYDRA_PPN={maker.each()}",
        f"MPIEXEC_PPN={maker.each()}",
    )


def _mpich(maker: Maker, made: Written) -> tuple[str, ...]:
    things = ("core", "numa", "socket", "hwthread", "l3cache", "l2cache", "machine", "none", "rr", "board", "group", "cluster")
    numbers = maker.numbers(physical=True).replace("-", "+")
    return (
        *_hydra(maker, made),
        f"-bind-to {maker.random.choice(things)}",
        f"-map-by {maker.random.choice(things)}",
        f"-bind-to {maker.random.choice(things)}:{maker.each()}",
        f"-map-by {maker.random.choice(things)}:{maker.each()}",
        f"-bind-to user:{numbers}",
        f"-bind-to user:{numbers} -map-by numa",
        f"-bind-to {maker.one('pci:0', 'gpu', 'ib', 'cpu', 'process', 'l4', 'l1icache', 'l1dcache', 'die', 'misc')}",
        "-membind firsttouch",
        "-membind interleave:numa",
        "-topolib hwloc",
        f"HYDRA_BIND_TO={maker.random.choice(things)}",
        f"HYDRA_MAP_BY={maker.random.choice(things)}",
        f"HYDRA_BINDING={maker.random.choice(things)}",
        "HYDRA_MEMBIND=firsttouch",
        "HYDRA_USE_LOCALHOST=1",
        "MPICH_OFI_NIC_POLICY=NUMA",
        "-gpus-per-proc 1",
        "-ranks-per-proc 2",
        "-s all",
    )


def _intel(maker: Maker, made: Written) -> tuple[str, ...]:
    each, numbers = maker.each(), maker.numbers(physical=True)
    return (
        *_hydra(maker, made),
        f"-perhost {each}",
        f"-grr {each}",
        f"I_MPI_PERHOST={maker.one(str(each), 'all', 'allcores')}",
        "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off",
        f"I_MPI_PIN_PROCESSOR_EXCLUDE_LIST={numbers}",
        f"I_MPI_PIN_PROCESSOR_LIST={numbers}",
        f"I_MPI_PIN_PROCESSOR_LIST={maker.one('allcores', 'all', 'allsocks')}:{maker.one('grain=2,shift=2', 'map=scatter')}",
        f"I_MPI_PIN_DOMAIN={maker.one('omp', 'auto', str(each))}:{maker.one('compact', 'scatter', 'platform')}",
        f"I_MPI_PIN_DOMAIN={maker.one('core', 'socket', 'numa', 'cache2', 'l2', 'l3', 'die', 'package', 'none')}",
        f"I_MPI_PIN_CELL={maker.one('core', 'unit')}",
        f"I_MPI_PIN_ORDER={maker.one('range', 'scatter', 'compact', 'spread', 'bunch', 'default')}",
        "I_MPI_PIN=off",
        "I_MPI_PIN=1",
        "I_MPI_PIN_RESPECT_CPUSET=0",
        "I_MPI_PIN_RESPECT_HCA=0",
        "I_MPI_PIN_MODE=lib",
        "I_MPI_HYDRA_TOPOLIB=hwloc",
        f"I_MPI_PIN_UNIT={maker.one('core', 'hwthread')}",
        f"OMP_NUM_THREADS={each}",
        f"KMP_HW_SUBSET={maker.one('1t', '2c,1t', '1s')}",
        f"-genv OMP_NUM_THREADS {each}",
        f"-genv OMP_NUM_THREADS={each}",
        f"-env OMP_NUM_THREADS {each}",
        "-bind-to core",
        "-bind-to none",
        "-binding pin=on;domain=omp",
        "-silent-abort",
        "I_MPI_OFFLOAD=0",
        f"I_MPI_HYDRA_HOST_FILE={'hosts.txt' if 'hosts.txt' in made.files else '/dev/null'}",
    )


def _srun(maker: Maker, made: Written) -> tuple[str, ...]:
    each = maker.each()
    return (
        f"-n {maker.count(len(made.hosts) or 1)}",
        f"-c {each}",
        f"--ntasks-per-node={each}",
        f"--ntasks-per-core={maker.one('1', '2')}",
        f"--ntasks-per-socket={each}",
        f"--threads-per-core={maker.one('1', '2')}",
        f"-B {maker.one('1', '2', '1:4', '2:2', '1:*', '2:4:1', '1:8:2', '2:*:*', '*:*:1')}",
        f"--hint={maker.one('nomultithread', 'multithread', 'compute_bound', 'memory_bound', 'nomultithread,compute_bound')}",
        f"-m {maker.one('block', 'cyclic', 'plane=3', 'block:cyclic', 'cyclic:block', 'block:fcyclic', '*:block', 'arbitrary')}",
        f"-m {maker.one('block,pack', 'cyclic:cyclic,pack', 'nopack', 'block:block:block,nopack', 'pack')}",
        f"--cpu-bind={maker.one('cores', 'threads', 'sockets', 'none', 'ldoms', 'rank', 'v,none', 'q', 'verbose')}",
        "--exact",
        "--exclusive",
        "--overlap",
        "--whole",
        "--overcommit",
        "-O",
        f"--sockets-per-node={maker.one('1', '2')}",
        f"--cores-per-socket={each}",
        f"--mincpus={each}",
        f"--cpus-per-gpu={each}",
        "--gpus-per-task=1",
        f"--gpus-per-node={maker.one('0', '1', '4')}",
        f"-G {maker.one('1', '2', '4')}",
        f"--gres={maker.one('none', 'gpu:1', 'gpu:4', 'gpu')}",
        f"--ntasks-per-gpu={maker.one('1', '2')}",
        f"--mem-per-cpu={maker.one('1', '10', '1000')}",
        f"--mem={maker.one('0', '100', '900', '100G')}",
        f"-w {_hosts(maker, made) if made.hosts else 'n1'}",
        f"-N 1-{len(made.hosts) or 1}",
        "--contiguous",
        "--spread-job",
        "--use-min-nodes",
        "--core-spec=2",
        "-r 0",
        "--cpu-freq=high",
        "-s",
        "-I",
        "-W 0",
        "-X",
        f"SLURM_HINT={maker.one('nomultithread', 'multithread', 'compute_bound', 'memory_bound')}",
        f"SLURM_CPU_BIND={maker.one('cores', 'threads', 'none', 'verbose', 'map_cpu:0,1', 'rank')}",
        f"SLURM_DISTRIBUTION={maker.one('block', 'cyclic', 'plane=2', 'block:block', 'cyclic:fcyclic', '*')}",
        f"SLURM_NTASKS={maker.count(len(made.hosts) or 1)}",
        f"SLURM_NPROCS={maker.count(len(made.hosts) or 1)}",
        f"SLURM_NTASKS_PER_NODE={each}",
        f"SLURM_NTASKS_PER_SOCKET={each}",
        f"SLURM_CPUS_PER_TASK={each}",
        f"SRUN_CPUS_PER_TASK={each}",
        f"SLURM_THREADS_PER_CORE={maker.one('1', '2')}",
        f"SLURM_NNODES={len(made.hosts) or 1}",
        "SLURM_EXACT=1",
        "SLURM_OVERCOMMIT=1",
        f"SLURM_MEM_BIND={maker.one('local', 'rank', 'map_mem:0', 'none')}",
        "SLURM_WHOLE=1",
        "SLURM_LABELIO=1",
    )
