"""Lines of srun as job scripts have them."""

from tests.launch.lint.fresh.maker import HOSTS, Maker, Written


class Srun(Maker):
    """Writes lines for one machine."""

    def srun(self) -> Written:
        """Return a line of srun, in a job of its hosts."""
        made = Written("srun", HOSTS[: self.random.choice([0, 0, 2, 2, 3])])
        self.openmp(made)
        many = len(made.hosts) or 1
        noise = (
            "-l",
            "-u",
            "--label",
            "-K1",
            "--kill-on-bad-exit=1",
            "--mpi=none",
            "--export=ALL",
            "--export=ALL,OMP_NUM_THREADS=2",
            "-Q",
            "--mem=0",
            "--unbuffered",
            "-t 10",
            "--time=00:10:00",
            "-J job",
            "--overlap",
            "--exact",
            "-v",
            "--propagate=STACK",
        )
        made.words += self.random.sample(noise, self.random.choice([0, 0, 1, 1, 2]))
        made.words.append(self.one(f"-N {many}", f"-N{many}", f"--nodes={many}", "" if many == 1 else f"--nodes={many}"))
        kind = self.random.random()
        if kind < 0.55:
            made.words.append(self.one("-n ", "-n", "--ntasks=") + str(self.count(many)))
        each = [1, 2, 4, 5, self.parts[1], self.parts[2]]
        if kind > 0.5:
            made.words.append(f"{self.one('--ntasks-per-node', '--tasks-per-node')}={min(self.cores, self.random.choice(each))}")
        self._placed(made)
        self.random.shuffle(made.words)
        return made

    def _placed(self, made: Written) -> None:
        if self.maybe(0.5):
            made.words.append(self.one("-c ", "-c", "--cpus-per-task=") + str(self.each()))
        if self.maybe(0.6):
            made.words.append(f"{self.one('--cpu-bind', '--cpu-bind', '--cpu_bind')}={self._cpu_bind()}")
        if self.maybe(0.45):
            made.words.append(self.one("-m ", "--distribution=") + self._distribution())
        if self.maybe(0.2):
            made.words.append(
                self.one("--hint=nomultithread", "--hint=multithread", "--hint=compute_bound", "--hint=memory_bound")
            )
        self._shaped(made)
        if self.maybe(0.05):
            made.before.append(
                self.one("SLURM_CPU_BIND=cores", "SLURM_DISTRIBUTION=cyclic", "SLURM_CPU_BIND=none", "SLURM_HINT=nomultithread")
            )

    def _shaped(self, made: Written) -> None:
        if self.maybe(0.15):
            made.words.append(
                self.one("--threads-per-core=1", "--threads-per-core=2", "--ntasks-per-core=1", "--ntasks-per-core=2")
            )
        if self.maybe(0.12):
            made.words.append(f"--ntasks-per-socket={self.each()}")
        if self.maybe(0.06):
            made.words.append(
                self.one(
                    "--mem-bind=local", "--exclusive", "--sockets-per-node=1", "--cores-per-socket=4", "-O", "--mem-bind=rank"
                )
            )
        if self.maybe(0.05):
            made.words.append(self.one("-B ", "--extra-node-info=") + self.one("2", "2:4", "2:*:1", "*:*:1", "1:8:2", "2:*:*"))
        if self.maybe(0.04):
            made.words.append(self.one("--mem-bind=map_mem:0,1", "--mem-bind=verbose,local", "--mem-bind=mask_mem:0x3", "-x n9"))

    def _distribution(self) -> str:
        node = self.one("block", "cyclic", "block", "*", "plane=2", "plane=4", "block")
        if node.startswith("plane") or self.maybe(0.25):
            return node
        socket = self.one("block", "cyclic", "fcyclic", "*")
        return f"{node}:{socket}" + (f":{self.one('block', 'cyclic', 'fcyclic')}" if self.maybe(0.3) else "")

    def _cpu_bind(self) -> str:
        count = self.random.choice([1, 2, 4])
        masks = [sum(1 << cpu for cpu in self.random.sample(self.pus, min(self.each(), len(self.pus)))) for _ in range(count)]
        cpus = ",".join(map(str, self.random.sample(self.pus, min(len(self.pus), self.random.choice([2, 4, 6])))))
        return self.one("verbose,", "", "", "", "quiet,") + self.one(
            "cores",
            "cores",
            "cores",
            "threads",
            "sockets",
            "none",
            "no",
            "ldoms" if self.maybe(0.6) else "cores",
            self.one("rank", "rank", "rank_ldom"),
            f"map_cpu:{cpus}",
            f"map_cpu:{cpus}",
            "mask_cpu:" + ",".join(f"{mask:#x}" for mask in masks),
            self.one("map_ldom:1,0", "map_ldom:" + ",".join(map(str, range(self.parts[1]))), "mask_ldom:0x1,0x2", "core"),
        )
