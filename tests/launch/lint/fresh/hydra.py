"""Lines of MPICH's and Intel MPI's mpiexec as their users write them."""

from tests.launch.lint.fresh.maker import HOSTS, Maker, Written


class Hydra(Maker):
    """Writes lines for one machine."""

    def _hydra_hosts(self, made: Written, *, intel: bool) -> None:
        counts = [self.random.choice([1, 2, 3, 4, 8]) for _ in made.hosts]
        named = [f"{host}{f':{count}' if self.maybe(0.5) else ''}" for host, count in zip(made.hosts, counts, strict=True)]
        kind = self.random.random()
        if kind < 0.5:
            made.words.append(f"{self.one('-hosts', '-hosts', '--hosts', '-host')} {','.join(made.hosts if intel else named)}")
        else:
            if self.maybe(0.2):
                named = ["# nodes of the job", *named]
            made.files["hosts.txt"] = "".join(f"{row}\n" for row in named)
            made.words.append(f"{self.one('-f', '-hostfile', '-machinefile', '--machinefile', '-f')} hosts.txt")
        if self.maybe(0.93 if intel else 0.5):
            made.words.append(
                f"{self.one('-ppn', '-ppn', '-perhost', '--ppn')} {self.random.choice([1, 2, 2, 4, 4, 6, 8, self.parts[1]])}"
            )

    def mpich(self) -> Written:
        """Return a line of MPICH's mpiexec."""
        made = Written(self.one("mpiexec", "mpirun", "mpiexec.hydra"), HOSTS[: self.random.choice([0, 0, 0, 2, 2, 3])])
        self.openmp(made)
        if made.hosts:
            self._hydra_hosts(made, intel=False)
        noise = (
            "-l",
            "-genvall",
            "-prepend-rank",
            "-genv OMP_NUM_THREADS 4",
            "-genv OMP_PLACES=cores",
            "-print-all-exitcodes",
            "-envall",
            "-iface lo",
            "-env MPIR_CVAR_CH4_OFI_ENABLE_HMEM 0",
            "-usize 40",
            "-disable-hostname-propagation",
            "-wdir /tmp",
        )
        made.words += self.random.sample(noise, self.random.choice([0, 0, 1, 1, 2]))
        things = [
            "core",
            "core",
            "numa",
            "socket",
            "hwthread",
            "l3cache",
            "l3",
            "l2cache",
            "l1cache",
            "l2",
            "machine",
            "package",
            "pu",
            "none",
            "rr",
            "board",
            "cpu",
            "user:" + self.numbers(physical=True).replace("-", ","),
            "l3ucache",
            "numanode",
            "Core",
            "group",
        ]
        if self.maybe(0.85):
            thing = self.random.choice(things)
            if thing not in ("none", "rr") and ":" not in thing and self.maybe(0.45):
                thing += f":{self.random.choice([1, 2, 2, 3, 4, 6, 8, 16])}"
            made.words.append(f"{self.one('-bind-to', '-bind-to', '--bind-to', '-binding')}{self.one(' ', ' ', '=')}{thing}")
            if self.maybe(0.45):
                over = self.random.choice([each for each in things if ":" not in each and each not in ("none", "rr", "user")])
                made.words.append(f"{self.one('-map-by', '-map-by', '--map-by')} {over}{self.one('', '', '', ':2', ':3')}")
        elif self.maybe(0.3):
            made.before.append(self.one("HYDRA_BINDING=core", "HYDRA_BIND=core", "HYDRA_TOPO_DEBUG=1", "HYDRA_BINDING=numa:2"))
        if self.maybe(0.12):
            first, second = self.random.choice([1, 2, 3]), self.random.choice([2, 3, 5])
            made.words.append(
                f"-n {first} : {self.one('', '', '-env FOO 1 ', '-bind-to numa ', '-host n2 ' if made.hosts else '')}-n {second}"
            )
            return made
        if self.maybe(0.93):
            made.words.append(f"{self.one('-n', '-np', '-n', '--np')} {self.count(len(made.hosts) or 1)}")
        self.random.shuffle(made.words)
        return made

    def intel_mpi(self) -> Written:
        """Return a line of Intel MPI's mpirun or mpiexec.hydra."""
        made = Written(
            self.one("mpirun", "mpiexec.hydra", "mpiexec.hydra", "mpiexec"), HOSTS[: self.random.choice([0, 0, 0, 2, 2, 3])]
        )
        self.openmp(made)
        if made.hosts:
            self._hydra_hosts(made, intel=True)
            if self.maybe(0.05):
                made.before.append(f"I_MPI_PERHOST={self.each()}")
        noise = (
            "-l",
            "-genvall",
            "-print-rank-map",
            "-prepend-rank",
            "-genv I_MPI_DEBUG 5",
            "-genv I_MPI_DEBUG=4",
            "-genv I_MPI_FABRICS shm",
            "-iface lo",
            "-genv I_MPI_ADJUST_ALLREDUCE 5",
            "-env I_MPI_HYDRA_IFACE=lo",
            "-genv KMP_AFFINITY compact",
            "-genv OMP_PLACES cores",
            "-genv I_MPI_SHM_HEAP=1",
            "-wdir /tmp",
            "-s all",
        )
        made.words += self.random.sample(noise, self.random.choice([0, 0, 1, 1, 2]))
        self._pins(made)
        if self.maybe(0.08):
            made.words.append(f"-n {self.random.choice([1, 2, 3])} : -n {self.random.choice([2, 3, 5])}")
            return made
        if self.maybe(0.95):
            made.words.append(f"{self.one('-n', '-np', '-n')} {self.count(len(made.hosts) or 1)}")
        self.random.shuffle(made.words)
        return made

    def _pins(self, made: Written) -> None:
        pins: dict[str, str] = {}
        kind = self.random.random()
        if kind < 0.62:
            thing = self.one(
                "omp",
                "omp",
                "auto",
                "core",
                "numa",
                "numa",
                "socket",
                "sock",
                "node",
                "cache",
                "cache2",
                "cache3",
                "cache1",
                str(self.each()),
                str(self.random.choice([2, 3, 4, 5, 8, 12, 16])),
            )
            pins["I_MPI_PIN_DOMAIN"] = thing + self.one("", "", "", "", ":compact", ":scatter", ":platform", ":spread", ":bunch")
        elif kind < 0.68:
            size = self.each()
            found = [f"{((1 << size) - 1) << (rank * size):x}" for rank in range(self.random.choice([2, 3, 4]))]
            pins["I_MPI_PIN_DOMAIN"] = "[" + ",".join(self.one("0x", "0x", "") + mask for mask in found) + "]"
        elif kind < 0.78:
            pins["I_MPI_PIN_PROCESSOR_LIST"] = self.one(
                self.numbers(physical=True),
                self.numbers(physical=True),
                self.numbers(),
                "allcores",
                "all",
                "allcores:map=scatter",
                "allcores:map=bunch",
                "allsocks",
                "all:map=spread",
            )
        elif kind < 0.84:
            pins["I_MPI_PIN"] = self.one("1", "on", "0", "off", "no", "yes", "enable", "disable")
        if self.maybe(0.3):
            pins["I_MPI_PIN_ORDER"] = self.one("compact", "scatter", "spread", "bunch", "range")
        if self.maybe(0.06):
            pins["I_MPI_PIN_CELL"] = self.one("core", "unit")
        if self.maybe(0.06):
            pins[self.one("I_MPI_PIN_RESPECT_CPUSET", "I_MPI_PIN_RESPECT_HCA", "I_MPI_PIN_MODE")] = self.one(
                "0", "1", "on", "off", "lib", "pm"
            )
        for name, value in pins.items():
            if self.maybe(0.55):
                made.before.append(f"{name}={value}")
            else:
                made.words.append(self.one(f"-genv {name} {value}", f"-genv {name}={value}", f"-env {name} {value}"))
