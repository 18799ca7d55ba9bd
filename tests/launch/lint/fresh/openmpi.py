"""Lines of mpirun as users of Open MPI 4 and 5 write them."""

from tests.launch.lint.fresh.maker import HOSTS, Maker, Written


class OpenMpi(Maker):
    """Writes lines for one machine."""

    def open_mpi(self, *, five: bool) -> Written:
        """Return a line of mpirun."""
        made = Written(self.one("mpirun", "mpirun", "mpirun", "mpiexec"), HOSTS[: self.random.choice([0, 0, 0, 2, 2, 3])])
        self.openmp(made)
        self._open_mpi_noise(made, five=five)
        if made.hosts:
            self._open_mpi_hosts(made)
        style = self.random.random()
        if style < 0.08:
            self._rankfile(made, five=five)
        elif style < 0.15:
            self._open_mpi_list(made, five=five)
        elif style < 0.25:
            self._parameters(made, five=five)
        elif style < 0.31:
            self._several(made, five=five)
            return made
        else:
            self._mapped(made, five=five)
        if self.maybe(0.86):
            made.words.append(f"{self.one('-np', '-n', '-np', '--np', '-c')} {self.count(len(made.hosts) or 1)}")
        self.random.shuffle(made.words)
        return made

    def _open_mpi_noise(self, made: Written, *, five: bool) -> None:
        both = (
            "--mca pml ucx",
            "--mca btl ^openib",
            "-mca btl ^vader,tcp,openib,uct",
            "--mca btl_tcp_if_include ib0",
            "-x UCX_NET_DEVICES=mlx5_0:1",
            "-x LD_LIBRARY_PATH",
            "-x OMP_NUM_THREADS=2",
            "--mca coll_hcoll_enable 0",
            "--report-bindings",
            "-report-bindings",
            "--allow-run-as-root",
            "--tag-output",
            "-q",
            "--mca io ^ompio",
            "--mca osc ^ucx",
            "--mca opal_common_ucx_tls any",
            "-x UCX_TLS=rc,sm,self",
            "--mca mpi_warn_on_fork 0",
        )
        own = (
            ("--display map,bind", "--display allocation", "--output tag", "--prtemca plm_base_verbose 0", "--display bind")
            if five
            else (
                "--display-map",
                "--mca orte_base_help_aggregate 0",
                "--mca plm_base_verbose 0",
                "--display-allocation",
                "--mca rmaps_base_display_map 1",
                "--mca hwloc_base_report_bindings 1",
                "-display-map",
            )
        )
        made.words += self.random.sample([*both, *own], self.random.choice([0, 0, 1, 1, 2, 3]))
        if self.maybe(0.08):
            made.before.append(
                self.one("OMPI_MCA_pml=ucx", "OMPI_MCA_btl=^openib", "UCX_NET_DEVICES=mlx5_0:1", "OMPI_MCA_osc=^ucx")
            )

    def _open_mpi_hosts(self, made: Written) -> None:
        slots = [self.random.choice([1, 2, 4, 6, 8, self.cores // 2 or 1, self.cores, self.cores]) for _ in made.hosts]
        same = self.maybe(0.6)
        each = [slots[0] if same else count for count in slots]
        kind = self.random.randrange(6)
        if kind < 2:
            text = ",".join(f"{host}:{count}" for host, count in zip(made.hosts, each, strict=True))
            made.words.append(f"{self.one('--host', '-H', '-host')} {text}")
        elif kind == 2:
            text = ",".join(host for host in made.hosts for _ in range(min(each[0], 4)))
            made.words.append(f"--host {text}")
        else:
            words = [
                self.one(
                    f" slots={count}",
                    f" slots={count}",
                    f" slots={count} max_slots={count}",
                    "",
                    f"  slots = {count}",
                    f" slots={count} max-slots={count + 2}",
                )
                for count in each
            ]
            rows = [f"{host}{word}" for host, word in zip(made.hosts, words, strict=True)]
            if self.maybe(0.2):
                rows = ["# made by the scheduler", *rows, ""]
            if self.maybe(0.15):
                rows = [row for row in (host for host in made.hosts) for _ in range(self.random.choice([1, 2, 4]))]
            made.files["hosts.txt"] = "".join(f"{row}\n" for row in rows)
            made.words.append(f"{self.one('--hostfile', '-hostfile', '-machinefile', '--machinefile')} hosts.txt")

    def _object(self, *, five: bool) -> str:
        many = [
            "core",
            "core",
            "numa",
            "numa",
            "l3cache",
            "l3cache",
            "slot",
            "node",
            "hwthread",
            "socket",
            "L3",
            "NUMA",
            "l2cache",
        ]
        many += (
            ["package", "package", "Package", "L3CACHE", "l1cache"] if five else ["socket", "Socket", "l3", "board", "L2cache"]
        )
        return self.random.choice(many)

    def _map_by(self, *, five: bool) -> str:
        kind = self.random.random()
        if kind < 0.4:
            thing = self.one("node", "node", "numa", "l3cache", "socket", "core", "package" if five else "socket", "l2cache")
            text, glue = f"ppr:{self.each()}:{thing}", ":"
        else:
            text, glue = self._object(five=five), ":"
        extra: list[str] = []
        if self.maybe(0.4):
            extra.append(f"{self.one('PE=', 'PE=', 'pe=')}{self.each()}")
        if self.maybe(0.22):
            extra.append(self.one("OVERSUBSCRIBE", "SPAN", "NOOVERSUBSCRIBE", "span", "oversubscribe"))
        if five and self.maybe(0.12):
            extra.append(self.one("HWTCPUS", "CORECPUS", "hwtcpus", "NOLOCAL", "INHERIT"))
        joint = ":" if five else ","
        return text + (glue + joint.join(extra) if extra else "")

    def _mapped(self, made: Written, *, five: bool) -> None:
        kind = self.random.random()
        if kind < 0.12:
            made.words.append(
                self.one(
                    f"-N {self.each()}",
                    f"--npernode {self.each()}",
                    f"-npernode {self.each()}",
                    f"--npersocket {self.each()}",
                    "--bynode",
                    "-bynode",
                    "--bycore" if not five else "--bynode",
                    "-pernode",
                    f"-npersocket {self.each()}",
                    f"--cpus-per-proc {self.each()}",
                    f"--cpus-per-rank {self.each()}",
                    "--byslot",
                )
            )
        elif kind < 0.82:
            made.words.append(f"{self.one('--map-by', '--map-by', '--map-by', '-map-by')} {self._map_by(five=five)}")
        if self.maybe(0.5):
            things = ["core", "core", "none", "socket", "numa", "l3cache", "hwthread", "core:overload-allowed", "l2cache", "hwt"]
            things += ["package", "l1cache", "L3cache"] if five else ["board", "l1cache", "core:if-supported", "l3"]
            made.words.append(f"{self.one('--bind-to', '--bind-to', '-bind-to')} {self.random.choice(things)}")
        elif self.maybe(0.06):
            made.words.append(self.one("--bind-to-core", "--bind-to-socket", "-bind-to-none", "--bind-to-none"))
        if self.maybe(0.2):
            things = (
                ["slot", "node", "fill", "span"] if five else ["slot", "node", "core", "numa", "socket", "socket:span", "l3cache"]
            )
            made.words.append(f"--rank-by {self.random.choice([*things, 'core'])}")
        if self.maybe(0.12):
            made.words.append(self.one("--use-hwthread-cpus", "-use-hwthread-cpus"))
        if self.maybe(0.1):
            made.words.append(self.one("--oversubscribe", "-oversubscribe", "--nooversubscribe"))

    def _open_mpi_list(self, made: Written, *, five: bool) -> None:
        kind = self.random.random()
        if five and kind < 0.5:
            made.words.append(f"--map-by pe-list={self.numbers()}{self.one('', ':ordered', ':ORDERED')}")
        elif kind < 0.75:
            made.words.append(f"{self.one('--cpu-set', '--cpu-list', '-cpu-set')} {self.numbers()}")
        else:
            made.words.append(f"--cpu-list {self.numbers()} --bind-to cpu-list{self.one('', ':ordered')}")
        if self.maybe(0.4):
            made.words.append(self.one("--bind-to core", "--bind-to none", "--bind-to hwthread", "--bind-to numa"))
        if self.maybe(0.15):
            made.words.append(f"--map-by {self._object(five=five)}")

    def _parameters(self, made: Written, *, five: bool) -> None:
        base, own = ("rmaps_default", "hwloc_default") if five else ("rmaps_base", "hwloc_base")
        hwt = "hwloc_use_hwthreads_as_cpus" if five and self.maybe(0.5) else f"{own}_use_hwthreads_as_cpus"
        choices = [
            (f"{base}_mapping_policy", self._map_by(five=five)),
            (
                f"{own}_binding_policy",
                self.one("core", "numa", "none", "l3cache", "hwthread", "socket", "package" if five else "core"),
            ),
            (f"{base}_ranking_policy", self.one("slot", "node", "fill" if five else "core")),
            (hwt, self.one("1", "true")),
            (f"{own}_cpu_list", self.numbers()),
            ("rmaps_base_oversubscribe", self.one("1", "0")),
            ("rmaps_base_no_schedule_local", "1"),
            ("rmaps_base_cpus_per_rank", str(self.each())),
            ("rmaps_ppr_n_pernode", str(self.each())),
            ("rmaps_base_pattern", f"{self.each()}:numa"),
            ("hwloc_base_mem_bind_failure_action", "silent"),
        ]
        weights = [5, 6, 2, 2, 2, 1, 0.3, 0.5, 0.5, 0.3, 0.5]
        for name, value in dict(self.random.choices(choices, weights, k=self.random.choice([1, 1, 2]))).items():
            variable = f"{'PRTE' if five and self.maybe(0.85) else 'OMPI'}_MCA_{name}={value}"
            option = f"--{'prtemca' if five and self.maybe(0.85) else 'mca'} {name} {value}"
            if self.maybe(0.65):
                made.before.append(variable)
            else:
                made.words.append(option)
        if self.maybe(0.5):
            self._mapped(made, five=five)

    def _several(self, made: Written, *, five: bool) -> None:
        first, second = self.random.choice([1, 1, 2, 3]), self.random.choice([1, 2, 4, 6])
        if self.maybe(0.7):
            self._mapped(made, five=five)
        own = self.one("", "", "", "-x FOO=1 ", "--bind-to core ", "-host n2 " if made.hosts else "")
        made.words.append(f"-np {first} : {own}-np {second}")

    def _rankfile(self, made: Written, *, five: bool) -> None:
        hosts = made.hosts or ("localhost",)
        rows, at = [], 0
        total = self.random.choice([2, 3, 4, 6, 8])
        width = max(1, min(self.each(), self.cores // total or 1))
        for rank in range(total):
            host = self.random.choice([hosts[rank % len(hosts)], hosts[rank * len(hosts) // total]])
            host = f"+n{hosts.index(host)}" if made.hosts and self.maybe(0.2) else host
            cores = f"{at % self.cores}-{min(self.cores - 1, at % self.cores + width - 1)}" if width > 1 else str(at % self.cores)
            socket = self.random.randrange(self.parts[0])
            inside = self.cores // self.parts[0]
            pair = f"{socket}:{self.random.randrange(inside or 1)}"
            slot = self.random.choice(
                [cores, cores, cores, pair, f"{socket}:*", f"{socket}:0-{max(0, inside // 2 - 1)}", f"{pair},{cores}"]
            )
            rows.append(f"rank {rank}={host} slot{self.one('=', '=', ' = ')}{slot}")
            at += width
        made.files["rankfile.txt"] = "".join(f"{row}\n" for row in rows)
        option = (
            self.one("--map-by rankfile:file=rankfile.txt", "--rankfile rankfile.txt")
            if five
            else self.one("-rf rankfile.txt", "--rankfile rankfile.txt")
        )
        made.words.append(option)
        if self.maybe(0.15):
            made.words.append(self.one("--mca rmaps_rank_file_physical 1", "--bind-to core", "--use-hwthread-cpus"))
