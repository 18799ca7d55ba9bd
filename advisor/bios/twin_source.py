"""What a twin is made from: a file of advisor bios read, a Bios.json with its registry, or a whole tree of a BMC."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from advisor.advice.bios_files import text_of
from advisor.advice.model.plan import Owner
from advisor.bios.reading import plain_values
from advisor.bios.twin import ROOT, SESSIONS, TASKS, Json, Model, Twin
from advisor.bios.twin_port import Response, Standing
from advisor.bios.twin_vendors import Ami, Dell, Hpe, Lenovo, Supermicro
from advisor.errors import BadInput
from advisor.machine.sources.redfish import covered, is_registry, resource_of
from advisor.machine.units import plain

_LARGEST: Final = 12 << 20
_WHOLE: Final = 256 << 20
_MOST: Final = 20_000
_VENDORS: Final[tuple[tuple[str, type[Twin]], ...]] = (
    ("dell", Dell),
    ("hpe", Hpe),
    ("hewlett", Hpe),
    ("lenovo", Lenovo),
    ("supermicro", Supermicro),
    ("super micro", Supermicro),
    ("megatrends", Ami),
    ("giga", Ami),
)
"""By a word of who made the system; any other applies what waits at the restart, as DMTF's standard has it."""
_PLAIN: Final = {
    "system": f"{ROOT}/Systems/1",
    "manager": f"{ROOT}/Managers/1",
    "registry": f"{ROOT}/Registries/Bios/Registry.json",
}


@dataclass
class Captured(Twin):
    """A twin whose resources are those of a captured tree; what is written lies over them, never inside."""

    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.identity = str(self.machine.system.get("UUID") or self.identity)
        self._files = {self.plain(path): data for path, data in self.files.items()}

    def get(self, path: str) -> Response:
        """Return a resource as it was captured, byte for byte where nothing was written over it."""
        own = path.startswith((f"{SESSIONS}/", f"{TASKS}/")) or (path == TASKS and bool(self.jobs))
        if own or path not in self._files:
            return super().get(path) if own or path in (SESSIONS, TASKS, self.paths["settings"], ROOT) else self.absent(path)
        over = self._over(path)
        if over is None:
            return Response(200, self._files[path], {"Content-Type": "application/json", "ETag": self.etag(self._tagged(path))})
        return Response.of(200, {**json.loads(self._files[path]), **over}, ETag=self.etag(self._tagged(path)))

    def _tagged(self, path: str) -> Any:
        return self.settings() if path == self.paths["settings"] else self._files[path].decode("utf-8", "replace")

    def _over(self, path: str) -> Json | None:
        """Return what lies over a resource; None where nothing does."""
        if path == self.paths["settings"]:
            return {"Attributes": self.settings().get("Attributes", {})} if self.pending else None
        if path == self.paths["bios"]:
            shown = self.bios()["Attributes"]
            return {"Attributes": shown} if shown != self.machine.attributes else None
        if path == self.paths["system"]:
            power = self.system()["PowerState"]  # the look brings its start further
            return {"PowerState": power} if power != self.machine.system.get("PowerState", "On") else None
        return None


def twin_of(places: Sequence[Path], **more: Any) -> Twin:
    """Return the twin of what was read: a folder is a tree, files are what a BMC said."""
    if len(places) == 1 and places[0].is_dir():
        files = tree_in(places[0])
        model = model_of_tree(files, str(places[0]))
        return made_of(model, Captured, files=files, **more)
    model, known = _of_files(places)
    return made_of(model, **known, **more)


def made_of(model: Model, *over: type[Twin], **more: Any) -> Twin:
    """Return the twin of a model: whose habits it has, when it applies, how it restarts."""
    made = str(model.system.get("Manufacturer") or "").lower()
    habits = next((kind for word, kind in _VENDORS if word in made), Twin)
    own = {"apply_times": model.times or None, "reset_types": model.resets or None}
    kind: type[Twin] = type(habits.__name__, (*over, habits), {name: value for name, value in own.items() if value})
    return kind(model, **more)


def tree_in(place: Path) -> dict[str, bytes]:
    """Return the resources that lie in a folder by their path: an index.json each, or a file of that very name."""
    tops = [place, *sorted(each for each in place.iterdir() if each.is_dir())]
    top = next((each for each in tops if (each / "redfish").is_dir()), None)
    if top is None:
        raise BadInput(
            "has no folder redfish: no tree of a BMC", file=str(place), cure="give the folder that has redfish/v1 in it"
        )
    found: dict[str, bytes] = {}
    room = _WHOLE
    for path in _files_in(top):
        size = path.stat().st_size
        room -= size
        if size > _LARGEST or room < 0 or len(found) >= _MOST:
            raise BadInput("larger than any tree of a BMC", file=str(path), cure="refused as unsafe")
        name = path.parent if path.name == "index.json" else path
        found[f"/{name.relative_to(top)}"] = path.read_bytes()
    return found


def _files_in(top: Path) -> Iterator[Path]:
    for path in sorted(top.rglob("*.json")):
        if path.is_file() and not path.is_symlink():
            yield path


def model_of_tree(files: Mapping[str, bytes], name: str) -> Model:
    """Return the server of a tree, found by its own links, and its attribute registry by what it has in it."""
    told = {path: body for path, data in files.items() if isinstance(body := _json(data), dict)}
    systems = [path for path, body in told.items() if "/Systems/" in path and isinstance(body.get("Bios"), dict)]
    bios = next((link for path in systems if (link := _link(told[path]["Bios"])) in told), None)
    if bios is None or not isinstance(told[bios].get("Attributes"), dict):
        raise BadInput("no system in it has a Bios with attributes", file=name, cure="capture the tree of one server's BMC")
    system = next(path for path in systems if _link(told[path]["Bios"]) == bios)
    attributes = told[bios]["Attributes"]
    registries = [
        path for path, body in told.items() if is_registry(body) and isinstance(body["RegistryEntries"].get("Attributes"), list)
    ]
    registry = max(registries, key=lambda path: covered(told[path], attributes.keys()), default=None)
    managers = told[system].get("Links", {}).get("ManagedBy") or [{"@odata.id": _PLAIN["manager"]}]
    settings, times = _settings(told[bios])
    resets = _resets(told[system], told)
    paths = {"system": system, "bios": bios, "settings": settings, "registry": registry or "", "manager": _link(managers[0])}
    about = {"BiosVersion": "1", "Manufacturer": "", **told[system]}
    return Model(paths, about, attributes, told[registry] if registry else {}, times, resets)


def _resets(system: Mapping[str, Any], told: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the kinds of reset that a system names, itself or in its ActionInfo; () where it names none."""
    action = system.get("Actions", {}).get("#ComputerSystem.Reset", {})
    info = told.get(_link(action.get("@Redfish.ActionInfo", "")), {})
    kinds = [each.get("AllowableValues") for each in info.get("Parameters", ()) if each.get("Name") == "ResetType"]
    found = action.get("ResetType@Redfish.AllowableValues") or (kinds[0] if kinds else None) or ()
    return tuple(str(each) for each in found)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _link(link: Any) -> str:
    found = link.get("@odata.id") if isinstance(link, dict) else link
    return found.rstrip("/") if isinstance(found, str) else ""


def _settings(bios: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return where changes are written to, empty where nothing can be staged, and when they can be applied."""
    told = bios.get("@Redfish.Settings")
    told = told if isinstance(told, dict) else {}
    times = told.get("SupportedApplyTimes")
    return _link(told.get("SettingsObject")), tuple(str(each) for each in times) if isinstance(times, list) else ()


def _of_files(places: Sequence[Path]) -> tuple[Model, dict[str, str]]:
    """Return what files of a BIOS have, and the server's UUID and BMC version where they say so."""
    read = [resource_of(text_of(path, _LARGEST, "what a BMC says of its BIOS"), str(path)) for path in places]
    whole: Json = next((each for each in read if each.get("schema") == "advisor-bios/1"), {})
    registry = next((each for each in read if is_registry(each)), whole.get("registry"))
    bios = whole.get("bios") or next((each for each in read if not is_registry(each)), None)
    if not isinstance(bios, dict) or not isinstance(bios.get("Attributes"), dict) or not bios["Attributes"]:
        cure = "give what advisor bios read -o FILE wrote, a Bios.json, or the folder of a whole tree"
        raise BadInput("no BIOS attributes in it", file=str(places[0]), cure=cure)
    try:
        owner = Owner.model_validate(whole.get("owner") or {})
    except ValueError as error:
        raise BadInput("owner is not what advisor bios read writes", file=str(places[0]), cure="write it again") from error
    place = _link(bios) or f"{_PLAIN['system']}/Bios"
    settings, times = _settings(bios)
    about = {
        "Manufacturer": owner.vendor or "",
        "Model": owner.model or "",
        "BiosVersion": owner.bios_version or "1",
        **({"HostName": owner.host_name} if owner.host_name else {}),
        **({"ProcessorSummary": {"Model": owner.processor}} if owner.processor else {}),
    }
    paths = {**_PLAIN, "system": place.rpartition("/")[0], "bios": place, "settings": settings}
    known = {"identity": owner.uuid, "firmware": owner.bmc_version}
    model = Model(paths, about, plain_values(bios["Attributes"]), registry or {}, times)
    return model, {name: value for name, value in known.items() if value}


def twin_document(twin: Twin, here: Standing) -> Json:
    """Return where a twin is, for a program: its password is in the file of its login alone."""
    return {
        "schema": "advisor-bios-twin/1",
        "bmc": here.url,
        "login_file": str(here.login),
        "ca": str(here.ca) if here.ca else None,
        "vendor": type(twin).__name__,
        "attributes": len(twin.applied),
        "stages": bool(twin.paths["settings"]),
    }


def twin_text(twin: Twin, here: Standing) -> str:
    """Return where a twin is and how it is used, with its password, which is printed this once."""
    made = " ".join(str(twin.machine.system.get(key) or "") for key in ("Manufacturer", "Model")).strip() or "a server"
    habits = "DMTF's standard" if type(twin).__name__ == "Twin" else type(twin).__name__
    can = f"stages, restarts and applies as {habits} does" if twin.paths["settings"] else "read-only: it has no settings object"
    lines = (
        f"Twin of    {plain(made, 100)}: {len(twin.applied)} attributes; {can}",
        f"Address    {here.url}, on this host alone",
        f"User       {twin.user}",
        f"Password   {''.join(twin.password)}",
        f"Try        advisor bios status {here.options}",
        "Ctrl-C ends it, and forgets what was changed.",
    )
    return "".join(f"{line}\n" for line in lines)
