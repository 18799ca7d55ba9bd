"""A machine stuffed with what names it, its people and its keys, in every source that a capture reads."""

import base64
import uuid
from collections.abc import Callable, Iterator
from hashlib import sha256

from advisor.machine.hosts.base import Ran, Reading, Why, example_path
from advisor.machine.hosts.capture import Entry, Link, MemoryStore, TreeHost
from advisor.machine.sources.registry import commands, paths
from tests.machines import tree as trees
from tests.machines.catalogue import tree

HOST = "zamonia0417.login.buchhaim-uni.example"
USER = "mythenmetz"
BASE = "b-c6525-2x7702-nps1"


class Secrets:
    """Words and addresses that stand nowhere else, each planted once or more, all remembered."""

    def __init__(self) -> None:
        self.words: list[str] = [HOST, "zamonia0417", "buchhaim-uni", USER]
        self.addresses: list[bytes] = []

    def word(self, about: str) -> str:
        """Return a new word that names somebody."""
        word = f"{about}{sha256(f'{about}{len(self.words)}'.encode()).hexdigest()[:7]}zz"
        self.words.append(word)
        return word

    def credential(self, about: str) -> str:
        """Return a new word that opens something."""
        return self.word(f"pw{about}")

    def ipv4(self) -> str:
        """Return a new address of this network."""
        raw = b"\x0a" + sha256(f"ip{len(self.addresses)}".encode()).digest()[:3]
        raw = bytes(byte if 20 < byte < 250 else byte % 200 + 30 for byte in raw)
        self.addresses.append(raw)
        self.words.append(".".join(map(str, raw)))
        return self.words[-1]

    def mac(self) -> str:
        """Return a new address of a network card."""
        raw = b"\xb8\xce" + sha256(f"mac{len(self.addresses)}".encode()).digest()[:4]
        self.addresses.append(raw)
        self.words.append(raw.hex(":"))
        return self.words[-1]

    def packed(self) -> bytes:
        """Return a new address as bytes, as a BMC's is in SMBIOS."""
        self.ipv4()
        return self.addresses[-1]

    def guid(self) -> str:
        """Return a new GUID of InfiniBand."""
        digits = "b8cef603" + sha256(f"guid{len(self.words)}".encode()).hexdigest()[:8]
        self.words.append(":".join(digits[i : i + 4] for i in range(0, 16, 4)))
        return self.words[-1]

    def uuid(self) -> str:
        """Return a new UUID."""
        self.words.append(str(uuid.UUID(bytes=sha256(f"u{len(self.words)}".encode()).digest()[:16])))
        return self.words[-1]


WRITINGS: tuple[Callable[[str], bytes], ...] = (
    lambda word: word.encode(),
    lambda word: word.upper().encode(),
    lambda word: word.encode().hex().encode(),
    lambda word: base64.b64encode(word.encode()),
    lambda word: b"".join(b"%%%02X" % byte for byte in word.encode()),
    lambda word: base64.b64encode(f"user:{word}".encode()),
)


def _variables(secrets: Secrets) -> dict[str, str]:
    named = (
        "JWT JOB_USER JOB_ACCOUNT JOB_PARTITION JOB_RESERVATION JOB_NAME CLUSTER_NAME SUBMIT_DIR SUBMIT_HOST JOB_QOS JOB_COMMENT"
    )
    slurm = {f"SLURM_{name}": secrets.word(name[-3:].lower()) for name in named.split()}
    pbs = "O_LOGNAME O_HOME O_HOST O_QUEUE QUEUE O_MAIL JOBNAME O_PATH JOBCOOKIE O_WORKDIR NODEFILE SERVER ACCOUNT"
    pmix = "SERVER_URI2 SERVER_URI41 NAMESPACE SECURITY_MODE SERVER_TMPDIR HOSTNAME KEEPALIVE_PIPE"
    mca = {
        "plm_rsh_agent": f"ssh -l {USER} -i /home/{USER}/.ssh/{secrets.word('key')}",
        "plm_rsh_args": f"-p 22 -o User={secrets.word('usr')}",
        "btl_tcp_if_include": secrets.ipv4() + "/24",
        "orte_hnp_uri": f"123;tcp://{secrets.ipv4()}:1024",
        "mca_base_param_files": f"/home/{USER}/{secrets.word('mca')}",
        "btl": f"^{secrets.word('btl')}",
        secrets.word("mcaname"): "1",
        "hwloc_base_topo_file": f"/tmp/{secrets.word('topo')}.xml",
    }
    others = {
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": f"-l {secrets.word('iusr')}",
        "I_MPI_PIN_PROCESSOR_LIST": "0-3",
        "I_MPI_OFI_PROVIDER": secrets.word("ofi"),
        "HYDRA_LAUNCHER_EXTRA_ARGS": f"-i {secrets.credential('hydra')}",
        "UCX_NET_DEVICES": "mlx5_0:1",
        "UCX_LOG_FILE": f"/home/{USER}/{secrets.word('log')}",
        "UCX_TLS": secrets.word("tls"),
        "OMP_PLACES": "cores",
        "OMP_DISPLAY_ENV": secrets.word("omp"),
        "OMP_AFFINITY_FORMAT": f"host={HOST}",
        "HCOLL_MAIN_IB": secrets.word("hcoll"),
        "MV2_CONFIG": f"/home/{USER}/{secrets.word('mv')}",
        "FLUX_URI": f"local:///run/{secrets.word('flux')}",
        "LSB_HOSTS": f"{secrets.word('host')} {secrets.word('host')}",
        "LSB_JOBNAME": secrets.word("lsf"),
        "SLURM_JOB_NODELIST": "zamonia[0417-0420]",
        "SLURM_JOB_ID": "48151623",
        "SLURM_NTASKS": "4",
        "SLURM_CPU_BIND_LIST": "0x3,0xC",
        "SLURM_TOPOLOGY_ADDR": f"{secrets.word('switch')}.zamonia0417",
    }
    return {
        **slurm,
        **{f"PBS_{name}": f"/home/{secrets.word(name[-3:].lower())}" for name in pbs.split()},
        **{f"PMIX_{name}": secrets.word(name[:3].lower()) for name in pmix.split()},
        **{f"OMPI_MCA_{name}": value for name, value in mca.items()},
        **others,
    }


def _cmdline(secrets: Secrets) -> str:
    word, ip, mac, key = secrets.word, secrets.ipv4, secrets.mac, secrets.credential
    return (
        f"BOOT_IMAGE=/boot/{word('image')} root=UUID={secrets.uuid()} ro nfsroot={ip()}:/srv/{word('nfs')} "
        f"ip={ip()}::{ip()}:255.255.0.0:{HOST}:eth0:off rd.iscsi.password={key('iscsi')} "
        f"rd.iscsi.username={word('iuser')} rd.iscsi.initiator=iqn.2004-01.{word('iqn')} "
        f"inst.ks=http://{USER}:{key('ks')}@{ip()}/ks.cfg?token={key('tok')} "
        f'rd.luks.key="a b {key("luks")}" systemd.hostname={HOST.upper()} wwid={word("wwid")} '
        f"isolcpus=2-3,{word('isol')} iommu=pt quiet console=ttyS0,115200 ifname=boot:{mac()} "
        f"{word('flag')} vendor.{word('k')}={word('v')} intel_idle.max_cstate=1 "
        f"BOOTIF=01-{mac().replace(':', '-')} ksdevice={mac().upper()} rd.md.uuid={secrets.uuid()} -- {word('init')}\n"
    )


def _mounts(secrets: Secrets) -> str:
    word, ip, key = secrets.word, secrets.ipv4, secrets.credential
    lines = [
        "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0",
        f"{ip()}:/export/{word('exp')} /home/{USER} nfs4 rw,addr={ip()},clientaddr={ip()} 0 0",
        f"//{word('filer')}/x /mnt/{word('mnt')} cifs rw,username={word('cifs')},password={key('c')} 0 0",
        f"{ip()}@o2ib:/{word('lustre')} /scratch/{word('scr')} lustre rw,flock 0 0",
        f"/dev/mapper/{word('vg')} / xfs rw 0 0",
        f"{word('pool')}/data /data/{word('data')} zfs rw 0 0",
        f"overlay /var/lib/docker/{word('layer')} overlay rw,lowerdir=/x/{word('low')} 0 0",
    ]
    return "".join(f"{line}\n" for line in lines)


def _structure(kind: int, body: bytes, *strings: bytes) -> bytes:
    return bytes([kind, 4 + len(body), kind, 0]) + body + (b"".join(text + b"\0" for text in strings) or b"\0") + b"\0"


def _smbios(secrets: Secrets, real: bytes) -> bytes:
    """Return a machine's table with structures of every type before its end, each with strings and addresses of its own."""
    planted = []
    for kind in (*range(6), *range(7, 16), 18, *range(21, 47), 126, *range(128, 222, 7), 204, 209, 219, 221):
        if kind in (0, 1, 2, 3, 4, 17):
            continue
        write = WRITINGS[kind % len(WRITINGS)]
        words = [write(secrets.word(f"t{kind}")), secrets.word(f"u{kind}").encode()]
        body = bytes([9, 9]) + secrets.packed() + secrets.word(f"w{kind}").encode("utf-16-le") + secrets.packed()[::-1]
        planted.append(_structure(kind, body, *words))
    board = _structure(
        2,
        bytes([1, 2, 3, 4, 5]) + bytes(6),
        b"Dell Inc.",
        b"0ABCDE",
        b"A01",
        secrets.word("bs").encode(),
        secrets.word("bt").encode(),
    )
    system = _structure(
        1,
        bytes([1, 2, 3, 4]) + uuid.UUID(secrets.uuid()).bytes_le + bytes([6, 5, 6]),
        *(
            b"Dell Inc.",
            b"PowerEdge C6525",
            b"1",
            secrets.word("ser").encode(),
            secrets.word("sku").encode(),
            HOST.upper().encode(),
        ),
    )
    bios = _structure(
        0,
        bytes([1, 2, 0, 0xE0, 3, 0]) + bytes(16) + secrets.packed(),
        b"Dell Inc.",
        b"2.10.2",
        b"01/02/2023",
        secrets.word("o").encode(),
    )
    chassis = _structure(
        3, bytes([1, 2, 3, 4, 5]) + bytes(4) + secrets.packed(), b"Dell Inc.", *(secrets.word("ch").encode() for _ in range(4))
    )
    memory = bytearray(0x5C - 4)
    memory[0x10 - 4 : 0x12 - 4], memory[0x17 - 4 : 0x1B - 4] = bytes([1, 2]), bytes([3, 4, 5, 6])
    module = _structure(
        17,
        bytes(memory) + secrets.packed(),
        b"A1",
        b"BANK",
        b"Samsung",
        *(secrets.word("ms").encode(), secrets.word("ma").encode(), b"M393"),
    )
    return bios + system + board + chassis + module + b"".join(planted) + real + secrets.word("tail").encode()


def _xml(secrets: Secrets) -> bytes:
    word, mac, guid = secrets.word, secrets.mac, secrets.guid
    infos = "HostName OSRelease OSVersion DMIProductSerial DMIBoardAssetTag CommandLine LinuxCgroup SerialNumber Note"
    told = "".join(f'<info name="{name}" value="{word(name[-3:].lower())}"/>' for name in infos.split())
    return (
        f'<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0"><!-- {word("com")} -->'
        f'<object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" {word("att")}="1" gp_index="1">'
        f'{told}<info name="{word("inf")}" value="1"/><userdata name="x" length="9">{word("ud")}</userdata>'
        f'<object type="Misc" gp_index="9" name="{word("proc")}"/><object type="OSDev" gp_index="8" name="{word("net")}" '
        f'osdev_type="2"><info name="Address" value="{mac()}"/></object><object type="OSDev" gp_index="7" name="mlx5_0" '
        f'osdev_type="3"><info name="NodeGUID" value="{guid()}"/><info name="Port1GID0" value="fe80::{guid()}"/>'
        f"</object></object></topology>{word('')}"
    ).encode()


def _answer(secrets: Secrets, argv: tuple[str, ...]) -> Ran:
    """Return what a command prints of itself, of where and by whom it was built, and of whom it could not reach."""
    word, ip, mac, key = secrets.word, secrets.ipv4, secrets.mac, secrets.credential
    folder = f"/home/{USER}/{word('sw')}/openmpi-4.1.5/bin/{argv[0]}"
    err = f"{argv[0]}: error: cannot reach {word('ctl')} ({ip()}:6817) as {USER}, token {key('err')}\n"
    if "xml" in argv:
        return Ran(_xml(secrets), err.encode(), 0, path=folder)
    built = f"Configured by: {USER}@{HOST}\nConfigure options: --prefix=/home/{word('pfx')} CC={word('cc')}\n"
    noise = f"{word('line')} {ip()} {mac()}\n"
    heads = {
        "mpirun": "mpirun (Open MPI) 4.1.5\n",
        "uname": "x86_64\n",
        "slurmd": f"NodeName=zamonia0417 CPUs=256 Boards=1 RealMemory=515000 Comment={word('cmt')}\n",
        "scontrol": f"NodeName=zamonia0417 CPUTot=256 Partitions={word('part')} Reason={word('why')} Owner={USER}(1000) "
        f"NodeAddr={ip()}\nNodeName={word('other')} CPUTot=1\n",
        "nvidia-smi": f"0, 00000000:01:00.0, NVIDIA A100 {word('card')}, 40960, 535.1\n",
        "rocm-smi": f'{{"card0": {{"Card series": "MI250X", "Serial Number": "{word("sn")}", "Unique ID": "{word("id")}"}}}}',
    }
    body = heads.get(argv[0], f"{argv[0]} 1.2.3\n") + ("" if argv[0] == "rocm-smi" else built + noise)
    return Ran(body.encode(), err.encode(), 0, path=folder)


def _config(secrets: Secrets) -> bytes:
    """Return a card's configuration space with its serial number, a maker's own capability and bytes that none describes."""
    config = bytearray(4096)
    config[0x06] = 0x10
    config[0x34] = 0x60
    config[0x60:0x64] = bytes([0x10, 0x90, 2, 0])
    config[0x90:0x92] = bytes([0x09, 0])
    config[0x92:0xA0] = secrets.word("cap").encode()[:14]
    secrets.words[-1] = secrets.words[-1][:14]
    config[0xB0 : 0xB0 + 12] = secrets.word("gap").encode()[:12]
    secrets.words[-1] = secrets.words[-1][:12]
    config[0x100:0x104] = (0x0003 | 1 << 16 | 0x140 << 20).to_bytes(4, "little")
    config[0x104:0x10A] = bytes.fromhex(secrets.mac().replace(":", ""))[::-1]
    config[0x140:0x144] = (0x000B | 1 << 16).to_bytes(4, "little")
    config[0x148:0x158] = secrets.word("vsec").encode("utf-16-le")[:16]
    return bytes(config)


def _text_files(secrets: Secrets) -> Iterator[tuple[str, str]]:
    """Yield files of this machine that hold sentences, and those of the kernel with a stranger's line behind their value."""
    yield "/proc/sys/kernel/hostname", f"{HOST}\n"
    yield "/proc/cmdline", _cmdline(secrets)
    yield "/proc/self/mounts", _mounts(secrets)
    yield (
        "/proc/version",
        f"Linux version 5.14.0 ({secrets.word('bld')}@{secrets.word('bhost')}) (gcc) #1 SMP {secrets.word('ver')}\n",
    )
    yield "/proc/sys/kernel/osrelease", f"5.14.0-427.{secrets.word('rel')}.x86_64\n"
    yield "/proc/self/cgroup", f"0::/slurm/{secrets.word('cg')}/uid_48151/job_4815162\n"
    yield "/proc/1/cgroup", f"0::/machine.slice/{secrets.word('box')}.scope\n"
    yield (
        "/proc/self/status",
        f"Name:\t{secrets.word('name')}\nUid:\t48151\nCpus_allowed_list:\t0-255\nGroups:\t48151 {secrets.word('g')}\n",
    )
    yield "/.dockerenv", secrets.word("docker")
    yield "/run/.containerenv", f'name="{secrets.word("pod")}"\nimage="{HOST}/x"\n'
    yield "/.singularity.d/runscript", f"#!/bin/sh\nexport TOKEN={secrets.credential('sif')}\n"
    yield "/etc/os-release", f'PRETTY_NAME="Rocky Linux 9.4 for {secrets.word("site")}"\nHOME_URL="https://{HOST}/"\nID=rocky\n'
    yield "/etc/tuned/active_profile", f"{secrets.word('tuned')}-hpc\n"
    yield "/run/systemd/container", f"{secrets.word('nspawn')}\n"
    yield "/sys/class/dmi/id/product_name", f"PowerEdge {HOST}\n"
    yield "/sys/class/dmi/id/board_name", f"0ABCDE {USER.upper()}\n"


def _tree(secrets: Secrets) -> dict[str, Entry]:
    nodes: dict[str, Entry] = {}
    for path, content in tree(BASE).items():
        is_link = isinstance(content, trees.Link)
        nodes[f"/{path}"] = Link(trees.relative(path, content)) if isinstance(content, trees.Link) else content
        if is_link or path.startswith("sys/firmware"):
            continue
        text = nodes[f"/{path}"]
        if isinstance(text, bytes) and b"\0" not in text and len(nodes) % 150 == 0:
            write = WRITINGS[len(secrets.words) % len(WRITINGS)]
            nodes[f"/{path}"] = text + write(secrets.word("k")) + b"\n"
    base = TreeHost(MemoryStore(dict(nodes)), "")
    for path in (example_path(pattern) for pattern in paths() if not pattern.endswith("@")):
        if (
            base.real(path) is None
            and base.real(path.rpartition("/")[0]) in (None, path.rpartition("/")[0])
            and "cgroup" not in path
            and "/cpu9/" not in path
            and "/node9/" not in path
            and not path.startswith("/sys/bus")
        ):
            nodes[path] = f"{secrets.word('f')} {USER}@{HOST}\n".encode()
    nodes |= {base.place(path) or path: text.encode() for path, text in _text_files(secrets)}
    nodes["/proc/mounts"] = Link("self/mounts")
    table = nodes["/sys/firmware/dmi/tables/DMI"]
    nodes["/sys/firmware/dmi/tables/DMI"] = _smbios(secrets, table if isinstance(table, bytes) else b"")
    for path in [path for path in nodes if path.endswith("/config")]:
        nodes[path] = _config(secrets)
    for name in (f"lan-{USER}", f"enx{secrets.mac().replace(':', '')}", secrets.word("ib")):
        nodes[f"/sys/class/net/{name}/mtu"] = b"1500\n"
        nodes[f"/sys/class/net/{name}/address"] = f"{secrets.mac()}\n".encode()
    return nodes


class Stuffed(TreeHost):
    """The machine: what is not in its tree is not there, and every command answers."""

    kind = "live"

    def __init__(self) -> None:
        self.secrets = Secrets()
        super().__init__(MemoryStore(_tree(self.secrets)), "this machine")
        self._variables = _variables(self.secrets)
        self._answers = {argv: _answer(self.secrets, argv) for argv in (*commands(), ("a-later-command", "--all"))}

    def read(self, path: str) -> Reading:
        """Return the file; ABSENT where there is none."""
        reading = super().read(path)
        return Reading(why=Why.ABSENT) if reading.why is Why.NOT_KEPT else reading

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what the command prints."""
        del timeout
        return self._answers[argv]

    def environment(self) -> dict[str, str]:
        """Return the variables of a job."""
        return self._variables
