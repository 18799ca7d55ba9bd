"""The vendors' habits as imitations: the product's twins, each with a machine of these tests and what only some have."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from advisor.bios import twin_source as vendors
from tests.bios.imitation import ROOT, Bmc, extended
from tests.bios.machines import Json, Machine, own
from tests.bios.wire import Request, Response


@dataclass
class Dell(Bmc, vendors.Dell):
    """An iDRAC."""

    machine: Machine = field(default_factory=lambda: own("dell"))


@dataclass
class Hpe(Bmc, vendors.Hpe):
    """An iLO."""

    machine: Machine = field(default_factory=lambda: own("hpe"))


@dataclass
class Lenovo(Bmc, vendors.Lenovo):
    """An XCC."""

    machine: Machine = field(default_factory=lambda: own("lenovo"))


@dataclass
class Supermicro(Bmc, vendors.Supermicro):
    """A Supermicro BMC.

    - 403 OemLicenseNotPassed without a licence (SFT-OOB-LIC or SFT-DCMS-SINGLE).
    """

    machine: Machine = field(default_factory=lambda: own("supermicro"))
    wants: str = "either"
    """What a PATCH takes: names, shown, or either."""

    def invalid(self, body: Json) -> Response | None:
        """Refuse the words of the menus, or the registry's names, where this BMC takes only the other."""
        for name, value in body.get("Attributes", {}).items():
            legal = self.oracle.legal(name)
            if (self.wants == "names" and value not in legal) or (self.wants == "shown" and value in legal and len(legal) > 0):
                message = f"The value {value} for the property {name} is not in the list of acceptable values."
                return Response.of(400, extended("Base.1.8.PropertyValueNotInList", message, str(value), name))
        return super().invalid(body)

    def unwilling(self, body: Json, headers: dict[str, str]) -> Response | None:
        """Refuse without a licence."""
        if not self.licensed:
            message = "Not licensed to perform this request. The following licenses SFT-OOB-LIC were needed."
            return Response.of(403, extended("SMC.1.0.OemLicenseNotPassed", message, "SFT-OOB-LIC"))
        return super().unwilling(body, headers)


@dataclass
class Ami(Bmc, vendors.Ami):
    """AMI MegaRAC.

    - Some releases take only the bare or the quoted form of a tag back
      (https://github.com/ansible-collections/community.general/pull/6434): ``tags``.
    """

    machine: Machine = field(default_factory=lambda: own("ami"))
    tags: str = "as given"
    """Which form of a tag it takes: as given, quoted or bare. ``*`` is always taken."""

    def accepts(self, tag: str) -> str:
        """Return the form that this release takes."""
        return {"as given": tag, "quoted": tag.removeprefix("W/"), "bare": tag.removeprefix("W/").strip('"')}[self.tags]


@dataclass
class OpenBmc(Bmc):
    """An OpenBMC without BIOS settings: no Bios link (https://github.com/ibm-openbmc/bmcweb/pull/451)."""

    machine: Machine = field(default_factory=lambda: own("rome"))

    def system(self) -> Json:
        """Return the system without its Bios."""
        return {name: value for name, value in super().system().items() if name != "Bios"}

    def resources(self) -> dict[str, Callable[[], Json]]:
        """Return what is there: no registry of attributes either."""
        listed, file = f"{ROOT}/Registries", f"{ROOT}/Registries/Bios"
        made = super().resources() | {listed: partial(self.collection, listed, "MessageRegistryFileCollection", [])}
        return {path: make for path, make in made.items() if path != file}

    def answer(self, request: Request) -> Response:
        """Know neither Bios nor a settings object."""
        path = self.plain(request.path)
        return self.absent(path) if path.startswith(self.paths["bios"]) else super().answer(request)


@dataclass
class CrayEx(Bmc):
    """A BMC of HPE Cray EX: an object for each attribute, plain values to Bios/SD (a comment in Cray-HPE/hms-scsd)."""

    machine: Machine = field(default_factory=lambda: own("ami"))

    def bios(self) -> Json:
        """Return each attribute as an object."""
        told = super().bios()
        return told | {"Attributes": {name: self.wrapped(name, value) for name, value in told["Attributes"].items()}}

    def wrapped(self, name: str, value: Any) -> Json:
        """Return an attribute with what it may be."""
        about = {"AllowableValues": self.oracle.legal(name), "DataType": "string", "reset_type": "Cold"}
        return about | {"current_value": value, "default_value": value, "menu_type": "Debug"}


MAKERS: dict[str, type[Bmc]] = {"dell": Dell, "hpe": Hpe, "lenovo": Lenovo, "supermicro": Supermicro, "ami": Ami}
"""The five whose BIOS can be set."""
