"""A machine, its firmware, its jobs and its files, each full of credentials of one recognisable form."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from advisor.machine.hosts.base import Ran, Reading, Why
from advisor.machine.hosts.capture import Entry, Link, MemoryStore, TreeHost, record
from advisor.machine.hosts.files import FILE
from advisor.machine.sources.registry import commands, paths
from tests.bios.machines import own
from tests.broken import whole
from tests.machines import tree as trees
from tests.machines.catalogue import tree

BASE: Final = "b-c6525-2x7702-nps1"
MARK: Final = re.compile(rb"zq7k\d{4}w9pv", re.IGNORECASE)
EACH: Final = 4
"""How many of a kind are planted, where several can stand."""

BOOT: Final = (
    "rd.iscsi.password={0}",
    "rd.iscsi.in.password={0}",
    "inst.ks=http://joe:{0}@10.0.0.1/ks.cfg",
    "inst.repo=https://u:{0}@h/os",
    "inst.vncpassword={0}",
    "inst.rdp.password={0}",
    "ipmi.pass={0}",
    "root=iscsi:joe:{0}@10.0.0.2::3260:1:iqn.x",
    "rd.luks.key={0}",
    "systemd.setenv=API_TOKEN={0}",
    "systemd.set_credential=pw:{0}",
    "proxy=http://p:{0}@proxy:3128",
    "rootflags=password={0}",
    "coreos.inst.ignition_url=https://h/i?token={0}",
    "ds=nocloud-net;s=http://u:{0}@h/",
    "rd.wifi.psk={0}",
    "site.unheard={0}",
    'netboot.args="a b {0}"',
    "isolcpus=password={0}",
    "mitigations=auto,secret={0}",
    "systemd.wants={0}",
    "unheard-{0}",
)
VARIABLES: Final = {
    "OMPI_MCA_oob_secret{1}": "{0}",
    "OMPI_MCA_sec_munge_key": "{0}",
    "PMIX_MCA_psec_token": "{0}",
    "OMPI_MCA_sec_basic_password": "{0}",
    "MV2_CRED": "{0}",
    "SLURM_JWT": "{0}",
    "PBS_JOBCOOKIE": "{0}",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-pw {0}",
    "UCX_PASSWORD": "{0}",
    "FLUX_URI": "ssh://u:{0}@h/x",
    "PMIX_SERVER_URI2{1}": "h;tcp4://{0}:1",
    "UCX_auth_value": "{0}",
    "HYDRA_LAUNCHER_EXTRA_ARGS": "-i {0}",
    "SLURM_JOB_COMMENT": "{0}",
    "OMPI_MCA_orte_hnp_uri": "1;tcp://{0}",
    "MV2_my_cred": "{0}",
    "SLURM_JOB_NAME": "run --password {0}",
    "UCX_TLS": "rc,token={0}",
    "OMP_API_KEY": "{0}",
    "SLURM_CPU_BIND": "password={0}",
}
LINES: Final = (
    "password={0}",
    "passwd: {0}",
    'db_password = "{0}"',
    "api_key={0}",
    "Authorization: Basic {0}",
    "bearer {0}aaaa",
    "MUNGE:{0}:",
    "https://joe:{0}@host/x",
    "token: {0}",
    "secret={0}",
    "AccountingStoragePass={0}",
    "AuthAltParameters=jwt_key={0}",
    "login joe password {0}",
    "tool --admin-password {0}",
    "$6$salt{0}$hashhashhash",
    "https://h/x?sig={0}",
    "cookie={0}",
    "psk={0}",
    "-----BEGIN RSA PRIVATE KEY-----\n{0}\n-----END RSA PRIVATE KEY-----",
    "sec_munge_key={0}",
    "MV2_CRED={0}",
    "passphrase {0}",
)
"""How programs write a credential into a text."""
ATTRIBUTES: Final = (
    "SetupPassword",
    "SysPassword",
    "AdministratorPassword_0117",
    "IscsiDev{1}Con1HostSecret",
    "KmipPassphrase{1}",
    "LicenseKey",
    "TlsPrivateKey{1}",
    "ApiToken{1}",
    "OldSetupPassword",
    "UserCredential",
)
UNNAMED: Final = "F30{1}"
"""Attributes that only the registry calls passwords."""
WORDS: Final = (
    ("-x", "OMPI_MCA_oob_secret={0}"),
    ("--mca", "sec_basic_password", "{0}"),
    ("--export=ALL,PASSWORD={0},A=1",),
    ("--api-token", "{0}"),
    ("--password={0}",),
    ("https://u:{0}@h/data",),
    ("-genv", "MV2_CRED", "{0}"),
)
"""Words of launch lines and of programs."""


@dataclass
class Planted:
    """The credentials that were planted, by kind."""

    kinds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def new(self, kind: str) -> str:
        """Return a new credential of a kind."""
        self.kinds[kind].append(f"zq7k{self.count:04}w9pv")
        return self.kinds[kind][-1]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self.kinds.values()))

    def text(self, pattern: str, kind: str, number: int = 0) -> str:
        """Return a text with a new credential in it."""
        return pattern.replace("{0}", self.new(kind)).replace("{1}", str(number))

    def lines(self, where: str, some: tuple[str, ...] = LINES) -> str:
        """Return lines of a file, each with a credential as programs write it."""
        return "".join(self.text(each, f"{where}: {each.replace('{0}', '*')[:40]}") + "\n" for each in some)

    def words(self, where: str) -> list[str]:
        """Return words of a command line."""
        return [self.text(word, f"{where}: {' '.join(words)}") if "{0}" in word else word for words in WORDS for word in words]


class StuffedHost(TreeHost):
    """A live machine: files, variables and answers of commands hold credentials."""

    kind = "live"

    def __init__(self, planted: Planted) -> None:
        self._planted = planted
        nodes: dict[str, Entry] = {}
        for path, content in tree(BASE).items():
            nodes[f"/{path}"] = Link(trees.relative(path, content)) if isinstance(content, trees.Link) else content
        base = TreeHost(MemoryStore(dict(nodes)), "")
        boot = " ".join(planted.text(each, f"boot: {each}") for _ in range(EACH) for each in BOOT)
        nodes["/proc/cmdline"] = f"ro quiet iommu=pt {boot} -- {planted.new('boot: init')}\n".encode()
        options = ("username=joe,password={0}", "credentials={0}", "secret={0}", "rw,token={0}")
        mounts = "".join(
            planted.text(f"//filer/x /mnt/{at} cifs rw,{each} 0 0\n", f"mount: {each}") for at, each in enumerate(options)
        )
        davfs = planted.text("https://joe:{0}@filer/x /mnt/dav davfs rw 0 0\n", "mount: URL")
        nodes |= {"/proc/self/mounts": (mounts + davfs).encode(), "/proc/mounts": Link("self/mounts")}
        for path in ("/etc/os-release", "/etc/tuned/active_profile", "/sys/class/dmi/id/product_name"):
            nodes[base.place(path) or path] = planted.lines(path).encode()
        table = nodes.get("/sys/firmware/dmi/tables/DMI")
        strings = b"\0".join(planted.text(each, f"SMBIOS: {each}").encode() for each in LINES[:4])
        oem = b"\x0b\x05\x00\x01\x04" + strings + b"\0\0"
        nodes["/sys/firmware/dmi/tables/DMI"] = oem + (table if isinstance(table, bytes) else b"")
        super().__init__(MemoryStore(nodes), "this machine")
        self._variables = {
            name.replace("{1}", str(at)): planted.text(value, f"variable: {name}")
            for at in range(EACH)
            for name, value in VARIABLES.items()
            if at == 0 or "{1}" in name
        }
        self._answers = {argv: self._answer(argv) for argv in commands()}

    def _answer(self, argv: tuple[str, ...]) -> Ran:
        at = self._planted.count
        text = self._planted.text(LINES[at % len(LINES)], f"answer: {LINES[at % len(LINES)][:30]}")
        heads = {
            "slurmd": "NodeName=n1 CPUs=256 Comment=password={0}\n",
            "scontrol": "NodeName=n1 CPUTot=256 Gres=gpu:4,token={0} Reason=x\n",
            "mpirun": "mpirun (Open MPI) 4.1.5 password={0}\n",
        }
        head = self._planted.text(heads.get(argv[0], f"{argv[0]} 1.2.3\n"), argv[0]) if argv[0] in heads else f"{argv[0]} 1.2.3\n"
        place = f"/opt/token={self._planted.new('path')}/{argv[0]}"
        return Ran(f"{head}{text}\n".encode(), text.encode(), 0, path=place)

    def read(self, path: str) -> Reading:
        """Return the file; ABSENT where there is none."""
        reading = super().read(path)
        return Reading(why=Why.ABSENT) if reading.why is Why.NOT_KEPT else reading

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what the command prints."""
        del timeout
        return self._answers.get(argv, Ran(why=Why.ABSENT))

    def environment(self) -> dict[str, str]:
        """Return the variables of a job."""
        return self._variables


def capture(planted: Planted) -> bytes:
    """Return a capture that somebody took without a filter."""
    return record(StuffedHost(planted), paths(), commands(), {"advisor": "0", "made": "python", "time": "2026-01-31T06:10:00Z"})


def machine_json(text: str, planted: Planted) -> bytes:
    """Return the document of a machine, as a version without a filter wrote it."""
    document = json.loads(text)
    machine = document.get("machine", document)
    boot = [
        (each.partition("=")[0], planted.text(each.partition("=")[2], f"boot in JSON: {each}")) for each in BOOT if "=" in each
    ]
    machine["kernel"]["cmdline"] = [["ro", None], *boot]
    machine["bios"] = {"attributes": attributes(planted, "BIOS in JSON"), "pending": attributes(planted, "pending in JSON")}
    machine["gaps"] = [{"fact": "x", "why": planted.text(each, "gap"), "help": planted.text(each, "gap")} for each in LINES]
    machine["slurm_nodes"] = [{"source": "slurmd -C", "gres": planted.text("gpu:4,token={0}", "gres in JSON")}]
    return json.dumps(document).encode()


def attributes(planted: Planted, where: str) -> dict[str, Any]:
    """Return a BIOS with passwords in it, beside what it really has."""
    note = planted.text("password={0}", f"{where}: a note")
    return {**own("rome").attributes, **passwords(planted, where), "AssetNote": note}


def passwords(planted: Planted, where: str) -> dict[str, Any]:
    """Return attributes that are called as passwords are."""
    return {
        name.replace("{1}", str(at)): planted.new(f"{where}: {name}")
        for at in range(EACH)
        for name in ATTRIBUTES
        if at == 0 or "{1}" in name
    }


def registry(planted: Planted) -> dict[str, Any]:
    """Return a registry in which some attributes are passwords, whatever they are called."""
    found: dict[str, Any] = json.loads(json.dumps(own("rome").registry))
    default = [{"AttributeName": "SetupPassword", "Type": "Password", "DefaultValue": planted.new("registry default")}]
    found["RegistryEntries"]["Attributes"] += [*unnamed_entries(), *default]
    return found


def unnamed_entries() -> list[dict[str, Any]]:
    """Return the entries of a registry by which attributes are passwords."""
    return [{"AttributeName": UNNAMED.replace("{1}", str(at)), "Type": "Password"} for at in range(EACH)]


def unnamed(planted: Planted) -> dict[str, Any]:
    """Return attributes that only a registry calls passwords."""
    return {UNNAMED.replace("{1}", str(at)): planted.new("BIOS: type Password") for at in range(EACH)}


def site_files(folder: Path, planted: Planted, machine: str) -> dict[str, Path]:
    """Write what people bring beside a machine, by what it is."""
    kept = {
        name: folder / name
        for name in ("bios.json", "registry.json", "measured.json", "stream.txt", "hosts", "site.yaml", "slurm.conf")
    }
    bios = {"@odata.id": "/redfish/v1/Systems/1/Bios", "Attributes": {**attributes(planted, "BIOS"), **unnamed(planted)}}
    kept["bios.json"].write_text(json.dumps(bios))
    kept["registry.json"].write_text(json.dumps(registry(planted)))
    measured = json.loads(whole("measurements")[0])
    measured["machine"] = {}
    busy = [planted.text(f"user joe runs app {each}", f"busy: {each[:20]}") for each in LINES]
    measured["conditions"] |= {"idle": False, "busy": busy, "flags": planted.text("-O3 -DAPI_TOKEN={0}", "flags")}
    measured["missing"] = [{"task": "x", "why": planted.text(each, f"missing: {each[:20]}")} for each in LINES]
    kept["measured.json"].write_text(json.dumps(measured))
    stream = (Path(__file__).parents[1] / "imports" / "outputs" / "stream-c.txt").read_text()
    kept["stream.txt"].write_text(planted.lines("log") + stream + planted.lines("log behind"))
    kept["hosts"].write_text("n1:4\nn2:4 # " + planted.lines("hostfile", LINES[:1]))
    rule = planted.text("waived while password={0} is changed", "waiver")
    kept["site.yaml"].write_text(f"waivers:\n  - {{id: os-swappiness, reason: '{rule}', until: 2099-01-01}}\n")
    conf = planted.lines("slurm.conf", tuple(each for each in LINES if each.partition("=")[0].replace("_", "").isalpha()))
    kept["slurm.conf"].write_text(f"ClusterName=x\n{conf}NodeName={machine} CPUs=1 Sockets=1 CoresPerSocket=1 RealMemory=1000\n")
    return kept


def race(folder: Path, planted: Planted) -> Path:
    """Write the race of a line with credentials, as a version without a filter kept it."""
    head, *runs = [json.loads(line) for line in whole("race")[0].splitlines()]
    for line in head["candidates"]:
        line["line"] = " ".join(["mpirun", "-n", "4", *planted.words("race"), "./app"])
    head["asked"]["command"] = ["mpirun", *planted.words("race's command"), "./app"]
    runs[0]["busy"] = [planted.text(each, "race: busy") for each in LINES]
    return _journal(folder, [head, *runs])


def experiment(folder: Path, planted: Planted) -> Path:
    """Write the journal of an experiment whose programs and errors hold credentials."""
    head, *steps = [json.loads(line) for line in whole("experiment")[0].splitlines()]
    for program in head["plan"]["measure"]:
        program["run"] = " ".join(["./prog", *planted.words("experiment")])
    for at, text in enumerate(LINES):
        steps.append({"at": "x", "node": "n1", "event": "failed", "why": planted.text(f"at {at}: {text}", "experiment: why")})
    return _journal(folder, [head, *steps])


def _journal(folder: Path, lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    (folder / FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder
