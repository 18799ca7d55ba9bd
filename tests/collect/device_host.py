"""A server put together from PCI cards, adapters and interfaces, in memory and with sysfs's symbolic links."""

import posixpath
from collections.abc import Mapping
from fnmatch import fnmatchcase

from advisor.machine.hosts.base import Ran, Reading, Why
from tests.collect.os_host import refuse_undeclared

PCI = "/sys/bus/pci/devices"
GEN4 = {
    "current_link_speed": "16.0 GT/s PCIe",
    "max_link_speed": "16.0 GT/s PCIe",
    "current_link_width": "16",
    "max_link_width": "16",
}
GEN5 = {name: value.replace("16.0 GT/s", "32.0 GT/s") for name, value in GEN4.items()}
BRIDGE = {"class": "0x060400", "vendor": "0x1022", "device": "0x1483"}
CONNECTX = {"class": "0x020700", "vendor": "0x15b3", "device": "0x101b"}
ETHERNET = {"class": "0x020000", "vendor": "0x8086", "device": "0x1521"}


class DeviceHost:
    """A host made of files and links; it remembers what it was asked for."""

    name = "this machine"

    def __init__(
        self,
        files: Mapping[str, str | bytes | Why],
        links: Mapping[str, str],
        runs: Mapping[str, Ran],
        kind: str,
    ) -> None:
        self.files, self.links, self.runs, self.kind = dict(files), dict(links), dict(runs), kind
        self.asked: set[str] = set()
        self.folders = {"/"}
        for path in (*files, *links):
            while path != "/":
                path = posixpath.dirname(path)  # noqa: PLW2901 - climbs to the root
                self.folders.add(path)

    def read(self, path: str) -> Reading:
        """Return what the file holds that the path leads to."""
        refuse_undeclared(path)
        self.asked.add(path)
        content = self.files.get(self._resolved(path) or "", Why.ABSENT)
        if isinstance(content, Why):
            return Reading(why=content)
        return Reading(content if isinstance(content, bytes) else content.encode())

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in the folder that the path leads to."""
        resolved = self._resolved(path)
        if resolved is None:
            return ()
        folder = f"{resolved}/"
        inside = (*self.files, *self.links, *self.folders)
        return tuple(sorted({name[len(folder) :].split("/")[0] for name in inside if name.startswith(folder)} - {""}))

    def real(self, path: str) -> str | None:
        """Return where the path leads, if something is there."""
        self.asked.add(path)
        return self._resolved(path)

    def _resolved(self, path: str) -> str | None:
        done, parts = "", [part for part in path.split("/") if part]
        for _ in range(100):
            if not parts:
                break
            done = f"{done}/{parts.pop(0)}"
            if done in self.links:
                done, parts = "", [part for part in self.links[done].split("/") if part] + parts
        return done if done in self.files or done in self.folders else None

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what was given for a program."""
        del timeout
        return self.runs.get(argv[0], Ran(why=Why.ABSENT))

    def environment(self) -> dict[str, str]:
        """Return no variables."""
        return {}


class Server:
    """A server being put together."""

    def __init__(self, *nodes: str, kind: str = "live") -> None:
        self.files: dict[str, str | bytes | Why] = {}
        self.links: dict[str, str] = {}
        self.runs: dict[str, Ran] = {}
        self.kind = kind
        for number, cpus in enumerate(nodes):
            self.files[f"/sys/devices/system/node/node{number}/cpulist"] = cpus
        if nodes:
            self.files["/sys/devices/system/cpu/online"] = ",".join(nodes)

    @property
    def host(self) -> DeviceHost:
        """The host as put together so far."""
        return DeviceHost(self.files, self.links, self.runs, self.kind)

    def plug(self, place: str, *facts: Mapping[str, str | bytes | Why], numa_node: int | None = -1, driver: str = "") -> str:
        """Plug a PCI function into its place below /sys/devices, and return that path."""
        path = f"/sys/devices/{place}"
        address = posixpath.basename(place)
        for fact in facts:
            self.files |= {f"{path}/{name}": value for name, value in fact.items()}
        if numa_node is not None:
            self.files[f"{path}/numa_node"] = str(numa_node)
        self.links[f"{PCI}/{address}"] = path
        if driver:
            self.files[f"/sys/bus/pci/drivers/{driver}/bind"] = ""
            self.links[f"{path}/driver"] = f"/sys/bus/pci/drivers/{driver}"
        return path

    def hca(self, name: str, under: str, ports: Mapping[int, Mapping[str, str]], **facts: str) -> str:
        """Give a device an RDMA driver, and return the path of what it adds."""
        path = f"{under}/infiniband/{name}"
        self.files |= {f"{path}/{fact}": value for fact, value in facts.items()}
        for number, port in ports.items():
            self.files |= {f"{path}/ports/{number}/{fact}": value for fact, value in port.items()}
        self.links[f"/sys/class/infiniband/{name}"] = path
        if "virtual" not in under:
            self.links[f"{path}/device"] = under
        return path

    def net(self, name: str, under: str, **facts: str) -> None:
        """Give a device a network interface."""
        path = f"{under}/net/{name}"
        self.files |= {f"{path}/{fact}": value for fact, value in ({"mtu": "1500"} | facts).items()}
        self.links[f"/sys/class/net/{name}"] = path
        if "virtual" not in under:
            self.links[f"{path}/device"] = under


def uncovered(host: DeviceHost, patterns: tuple[str, ...]) -> list[str]:
    """Return the paths a source asked for that its patterns would not keep: a capture would lack them."""
    return sorted(path for path in host.asked if not any(_matches(path, pattern) for pattern in patterns))


def _matches(path: str, pattern: str) -> bool:
    names, wanted = path.split("/"), pattern.removesuffix("@").split("/")
    return len(names) <= len(wanted) and all(map(fnmatchcase, names, wanted))
