"""Whole trees of real BMCs, served byte for byte: sessions, what waits, jobs and restarts lie over them, never inside."""

import json
import tarfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from tests.bios.imitation import SESSIONS, Bmc
from tests.bios.machines import KNOWLEDGE, Json, Machine
from tests.bios.wire import Response

FOLDER = KNOWLEDGE / "trees"
TREES = {
    "dell": "dell.tar.xz",
    "supermicro": "supermicro.tar.xz",
    "gb200": "nvidia_gb200.tar.xz",
    "bluefield": "nvidia_dpu.tar.xz",
}
PRESENT = FOLDER.is_dir()
ABSENT = f"the captured trees of real BMCs are not at {FOLDER}"


@cache
def files_of(name: str) -> dict[str, bytes]:
    """Return what a tree has, by path."""
    found = {}
    with tarfile.open(FOLDER / TREES[name]) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name.endswith("/index.json") else None
            if file is not None:
                found["/" + member.name.split("/", 1)[1].removesuffix("/index.json")] = file.read()
    return found


def folder_of(place: Path) -> dict[str, bytes]:
    """Return the tree that lies unpacked in a folder: one index.json a resource."""
    files = place.rglob("index.json")
    return {f"/{path.parent.relative_to(place)}": path.read_bytes() for path in files}


def machine_of(files: dict[str, bytes]) -> Machine:
    """Return the server of a tree, found by its own links, and its attribute registry by what it has in it."""
    told = {}
    for path, data in files.items():
        try:
            body = json.loads(data)
        except ValueError:
            continue
        if isinstance(body, dict):
            told[path] = body
    system = next(path for path, body in told.items() if "/Systems/" in path and path.count("/") == 4 and "Bios" in body)
    bios = told[system]["Bios"]["@odata.id"].rstrip("/")
    attributes = told[bios]["Attributes"]
    registries = {path: body for path, body in told.items() if _names(body)}
    registry = max(registries, key=lambda path: len(_names(registries[path]) & attributes.keys()))
    managers = told[system].get("Links", {}).get("ManagedBy") or [{"@odata.id": ""}]
    settings = told[bios]["@Redfish.Settings"]["SettingsObject"]["@odata.id"].rstrip("/")
    paths = {"system": system, "bios": bios, "settings": settings, "registry": registry, "manager": managers[0]["@odata.id"]}
    return Machine(paths, {"BiosVersion": "1", **told[system]}, attributes, registries[registry])


def _names(body: Json) -> set[str]:
    entries = body.get("RegistryEntries")
    listed = entries.get("Attributes") if isinstance(entries, dict) else None
    return {each["AttributeName"] for each in listed} if isinstance(listed, list) else set()


@dataclass
class Tree(Bmc):
    """A BMC whose resources are a captured tree's, as they are; what is written lies over it."""

    files: dict[str, bytes] = field(default_factory=dict)
    apply_times: ClassVar[tuple[str, ...]] = ("OnReset",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.identity = self.machine.system.get("UUID", self.identity)

    def get(self, path: str) -> Response:
        """Return a resource byte for byte, where nothing was written over it."""
        if path == self.paths["settings"] and self.pending:
            return self._over(path, {"Attributes": dict(self.pending)})
        if path == self.paths["bios"] and self.applied != self.machine.attributes:
            return self._over(path, {"Attributes": dict(self.applied)})
        if path.startswith(f"{SESSIONS}/") or path not in self.files:
            return super().get(path) if path.startswith(SESSIONS) else self.absent(path)
        return Response(200, self.files[path], {"Content-Type": "application/json", "ETag": self.etag(self._tagged(path))})

    def _tagged(self, path: str) -> Any:
        return self.settings() if path == self.paths["settings"] else self.files[path].decode()

    def _over(self, path: str, more: Json) -> Response:
        return Response.of(200, {**json.loads(self.files.get(path, b"{}")), **more}, ETag=self.etag(self.settings()))


def tree(files: dict[str, bytes]) -> Tree:
    """Return the BMC of a tree."""
    return Tree(machine=machine_of(files), files=files, enforces=False)
