"""Every command of the command line on what was planted, and every output that could give a credential away.

``python -m tests.secrecy [COMMAND...]`` asks them all, and prints what was looked through and which lines were refused.
"""

import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest
import zstandard

from advisor.advice.checklist import formats_told
from advisor.cli.main import status
from advisor.exports.export import built_in
from advisor.fleet.fleet import Answer
from advisor.jobs.launcher import names as launchers
from advisor.machine.hosts.errands import Outcome
from tests.bios.admin import WISH
from tests.bios.imitation import PASSWORD, USER
from tests.bios.machines import own
from tests.bios.makers import MAKERS
from tests.bios.wire import Rack
from tests.secrecy import planted as plants
from tests.secrecy.planted import Planted
from tests.test_fuzz import machine_json

Words = tuple[object, ...]


@dataclass(frozen=True)
class Site:
    """Everything that was planted, on disk."""

    planted: Planted
    folder: Path
    files: dict[str, Path]

    def __getitem__(self, name: str) -> Path:
        """Return a file by what it is."""
        return self.files[name]


def planted_site(folder: Path) -> Site:
    """Plant them all in a folder."""
    planted = Planted()
    node, document, fleet = folder / "node.tar.gz", folder / "machine.json", folder / "fleet"
    node.write_bytes(plants.capture(planted))
    document.write_bytes(plants.machine_json(machine_json(), planted))
    files = plants.site_files(folder, planted, "n1") | {"node": node, "json": document, "fleet": fleet}
    files["race"] = plants.race(folder / "race", planted)
    files["experiment"] = plants.experiment(folder / "experiment", planted)
    fleet.mkdir()
    names = ("n1", "n2")
    answers = [Answer(node=name, at="2026-01-31T06:10:00Z", outcome=Outcome.ANSWERED, archive=f"{name}.tar.gz") for name in names]
    lines = [json.dumps(each.model_dump(mode="json", exclude_none=True)) for each in answers]
    for at, text in enumerate(plants.LINES, 3):
        why = planted.text(f"ssh: {text}", "fleet: why").replace("\n", " ")
        lines.append(json.dumps({"node": f"n{at}", "at": "2026-01-31T06:10:00Z", "outcome": "failed", "why": why}))
    (fleet / "answers.jsonl").write_text("\n".join(lines) + "\n")
    (fleet / "history").mkdir()
    (fleet / "history/2020-01-01T000000Z.jsonl.gz").write_bytes(gzip.compress(b""))
    for name in names:
        (fleet / f"{name}.tar.gz").write_bytes(plants.capture(planted))
        bios = {"@odata.id": "/redfish/v1/Systems/1/Bios", "Attributes": plants.attributes(planted, "fleet's BIOS")}
        (fleet / f"{name}.bios.json").write_text(json.dumps(bios))
    return Site(planted, folder, files)


def lines_of(site: Site, out: Path) -> dict[str, list[Words]]:
    """Return the lines of each command, in the order in which they are typed; those of a BMC go to one that is imitated."""
    node: Words = ("--from", site["node"])
    more: Words = ("--bios", site["bios.json"], "--bios", site["registry.json"], "--rules", site["site.yaml"])
    measured: Words = ("--measurements", site["measured.json"])
    words = site.planted.words("line")
    job: Words = ("--ranks", 4, "--", "./app", *words)
    line: Words = ("mpirun", "-np", 4, "--map-by", "core", *words, "./app", "--password", site.planted.new("program: option"))
    sources: list[tuple[object, Path]] = [("--from", site["node"]), ("--from", site["json"])]
    stage: Words = ("bios", "stage", out / "wish.yaml", "--yes", "--record", out / "record.json")
    restart: Words = ("bios", "restart", "--yes", "--no-slurm", "--drained", "--record", out / "record.json")
    look: Words = ("bios", "status")
    plan: Words = ("bios", "plan", *node, *more)
    return {
        "audit": [
            ("audit", *each, *how, *beside, *measured)
            for each, beside in zip(sources, (more, ()), strict=True)
            for how in ((), ("-v",), ("--json",))
        ],
        "topology": [("topology", *each, *how) for each in sources for how in ((), ("--json",), ("--svg", out / "t.svg"))],
        "report": [
            ("report", *node, *more, "--tuned", site["race"], "-o", out / f"{audience}.{form}", "--for", audience)
            for form in ("html", "md", "json")
            for audience in ("internal", "vendor", "public")
            if audience == "internal" or form == "md"
        ]
        + [("report", "--from", site["json"], *measured, "-o", out / f"measured.{form}") for form in ("html", "json")]
        + [("report", site["fleet"], "-o", out / "fleet.html")],
        "explain": [("explain", number, *node, *more, *how) for number in (1, 2) for how in ((), ("--json",))],
        "checklist": [("checklist", "--as", name, *node, *more, "-o", out / f"list-{name}") for name in formats_told()]
        + [("checklist", *node, *more)]
        + [("checklist", site["fleet"], "--as", form) for form in ("txt", "json")],
        "whatif": [("whatif", "nps=4", *node, *how) for how in ((), ("--json",), ("-o", out / "whatif.json"))],
        "export": [
            (
                "export",
                name,
                "--from",
                site[source],
                *(measured if name == "reframe" else ()),
                "-o",
                out / f"export-{name}-{source}",
            )
            for name, form in built_in().items()
            for source, kind in (("node", "machine"), ("fleet", "kinds"))
            if kind in form.takes
        ]
        + [("export", "slurm", "--check", site["slurm.conf"], *node, *how) for how in ((), ("--json",))],
        "compare": [("compare", site["node"], site["json"], *how) for how in ((), ("--json",))]
        + [("compare", site["node"], site["json"], "-o", out / f"change.{form}") for form in ("html", "md")]
        + [("compare", "n1", "n2", site["fleet"], *how) for how in ((), ("--json",))]
        + [
            ("measure", "import", site["stream.txt"], *node, "--save", out / "i.json", "--placed", "machine"),
            ("compare", out / "i.json", out / "i.json"),
            ("compare", out / "i.json", site["stream.txt"], *node, "--placed", "machine"),
        ],
        "capture": [("capture", *node, "-o", out / f"again{at}.tar.gz", *how) for at, how in enumerate(((), ("--anonymise",)))]
        + [("capture", "--script")],
        "bind": [("bind", *node, "--launcher", name, "-o", out / f"job-{name}", *job) for name in launchers()]
        + [
            ("bind", *node, *how, *job)
            for how in ((), ("--json",), ("--line", "--launcher", "srun"), ("--explain",), ("--hostfile", site["hosts"]))
        ],
        "check": [("check", *node, *how, "--", *line) for how in ((), ("--json",), ("--slurm-conf", site["slurm.conf"]))],
        "verify": [
            ("verify", "--print-probe"),
            ("bind", *node, "--launcher", "openmpi", "-o", out / "job", *job),
            ("verify", out / "job", *node),
        ],
        "tune": [
            ("tune", "--resume", site["race"]),
            ("tune", "--dry-run", "--busy-ok", *("--", *line)),
            ("tune", "--resume", site["race"], "--json"),
        ],
        "experiment": [
            ("experiment", "--list"),
            ("experiment", "--resume", site["experiment"], "--bmc", "127.0.0.1:1", "--node", "n1"),
        ],
        "experiment status": [("experiment", "status", site["experiment"], *how) for how in ((), ("--json",))],
        "experiment abort": [("experiment", "abort", site["experiment"], "--bmc", "127.0.0.1:1", "--yes")],
        "measure": [("measure", "show", site["measured.json"], *how) for how in ((), ("--json",))]
        + [("measure", "--dry-run", *node), ("measure", *node, *measured)],
        "measure import": [
            ("measure", "import", site["stream.txt"], *node, *how)
            for how in ((), ("--json",), ("--save", out / "i.json", "--placed", "machine"))
        ],
        "measure network": [
            ("measure", "network", "--hosts", "n1,n2", "--dry-run", "--from", site["node"], *how) for how in ((), ("--json",))
        ],
        "measure hpl": [
            ("measure", "hpl", "--dry-run", "--xhpl", "/bin/true"),
            ("measure", "hpl", "--dry-run", "--xhpl", f"/opt/{words[1]}/xhpl"),
        ],
        "rules": [
            ("rules", "list"),
            ("rules", "show", "--rules", site["site.yaml"]),
            ("rules", "check", "--rules", site["measured.json"]),
        ],
        "fleet audit": [("fleet", "audit", site["fleet"], *how) for how in ((), ("-v",), ("--json",), ("-o", out / "fleet.txt"))],
        "fleet show": [("fleet", "show", what, site["fleet"], *how) for what in ("1", "n1", "n9") for how in ((), ("--json",))],
        "fleet golden": [
            ("fleet", "golden", "save", site["node"]),
            ("fleet", "golden", "save", site["node"], "-o", out / "golden.yaml"),
            ("fleet", "golden", "diff", out / "golden.yaml", out / "golden.yaml"),
            ("fleet", "audit", site["fleet"], "--golden", out / "golden.yaml"),
        ],
        "fleet since": [
            ("fleet", "audit", site["fleet"], "--keep", "5200w"),
            ("fleet", "since", "2020-01-01", site["fleet"]),
        ],
        "fleet capture": [("fleet", "capture", "-w", words[1], "-o", out / "none", "--timeout", "1")],
        "fleet measure": [("fleet", "measure", "-w", words[1], "-o", out / "none", "--timeout", "1")],
        "bios plan": [plan, (*plan, "--json"), (*plan, "-o", out / "plan.yaml")],
        "bios prove": [("bios", "prove", out / "wish.yaml"), ("bios", "prove", out / "wish.yaml", "--json")],
        "bios read": [("bios", "read"), ("bios", "read", "--json"), ("bios", "read", "-o", out / "read.json")],
        "bios rollout": [("bios", "rollout", out / "wish.yaml", "--node", "n1", "--dry-run", *how) for how in ((), ("--json",))],
        "bios stage": [stage],
        "bios status": [look, ("bios", "status", "--json")],
        "bios restart": [stage, restart],
        "bios twin": [("bios", "twin", site["json"])],  # of what is no BIOS; one that is serves until it is interrupted
        "bios undo": [
            stage,
            restart,
            look,
            look,
            ("bios", "undo", out / "record.json", "--yes", "--record", out / "undone.json"),
        ],
    }


OF_BMC: Final = ("bios read", "bios stage", "bios status", "bios restart", "bios undo", "bios prove", "bios rollout")
REFUSED: Final = {
    "is a tool for": "a checklist for the tool of another maker than the server's",
    "no valid triad": "an export whose reference values nobody measured while the machine was idle",
    "starts one process": "launchers that start one process, asked for four ranks",
    "no rank has reported": "no ranks can be started where the test runs",
    "its line contains a credential, which is never stored": "a race that an older version kept with its credentials",
    "a program's command line contains a credential, which the journal must not store": "an experiment of which the same is true",
    "no such program": "a path with a credential in it, of a program that is not there",
    "schema_version is not a key of this sheet": "a file that is no sheet of rules",
    "no capture of n9": "a node that failed, with a credential in what ssh said",
    "it contains no BIOS attributes": "a twin of what is no BIOS; one that is serves until it is interrupted",
    "has a node of which nothing is odd": "a golden file of planted nodes, all of which are odd",
    "golden.yaml: ": "that golden file, which was not written",
    "writes one": "what changed since a day of which there is one snapshot alone",
    "is not a host name": "a credential where a host's name belongs",
}
"""What may be refused, by a part of its message: what was asked for. Any other refusal looks through too little."""


@dataclass
class Looked:
    """What was looked through."""

    lines: int = 0
    outputs: int = 0
    leaked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """The lines that ended with 2, each with what was written."""


def looked_through(command: str, site: Site, out: Path, most: int | None = None) -> Looked:
    """Type the lines of a command, the last ``most`` of them, in an empty HOME; look through both streams, every file."""
    found = Looked()
    with pytest.MonkeyPatch.context() as patch, Rack() as rack:
        patch.chdir(out)
        patch.setenv("HOME", str(out))
        more: Words = ()
        if command in OF_BMC:
            machine = own("dell")
            entries = machine.registry["RegistryEntries"]["Attributes"]
            secrets = {**plants.passwords(site.planted, "BMC"), **plants.unnamed(site.planted)}
            # Reading is tried with a registry that is not accepted, too: what it calls a password is one all the same.
            texts = [] if command == "bios read" else [{"AttributeName": name, "Type": "String"} for name in secrets]
            whole = {**machine.registry, "RegistryEntries": {"Attributes": [*entries, *texts, *plants.unnamed_entries()]}}
            bmc: Any = rack.add(MAKERS["dell"](replace(machine, registry=whole)), None)
            bmc.applied |= secrets
            name, value = WISH["dell"]
            (out / "wish.yaml").write_text(f"format: advisor-bios-plan/1\nchanges:\n  - {{attribute: {name}, value: {value}}}\n")
            more = ("--bmc", bmc.url, "--insecure")
        lines = lines_of(site, out)[command]
        for words in lines[-most:] if most else lines:
            typed = [str(word) for word in (*words, *more)]
            patch.setenv("ADVISOR_BMC_USER", USER)
            patch.setenv("ADVISOR_BMC_PASSWORD", PASSWORD)
            with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as complained:
                code = status(typed)
            text = printed.getvalue() + complained.getvalue()
            assert code in (0, 1, 2), typed
            found.lines += 1
            found.outputs += 2
            found.leaked += found_in(" ".join(typed)[:120], text.encode())
            if code == 2:
                found.refused.append(f"{' '.join(typed)[:160]}: {complained.getvalue().strip()[-300:]}")
    written = [*every_file(out)]
    index = site["fleet"] / "fleet-index.zst"
    written += [("fleet-index.zst", unpacked(index.read_bytes()))] if index.exists() else []
    for name, data in written:
        found.leaked += found_in(name, data)
    found.outputs += len(written)
    return found


def every_file(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield all that was written, archives member by member."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name, data = str(path.relative_to(folder)), unpacked(path.read_bytes())
        if data[257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                for member in archive:
                    file = archive.extractfile(member) if member.isfile() else None
                    yield f"{name}: {member.name}", member.linkname.encode() if file is None else file.read()
        elif data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                yield from ((f"{name}: {each}", packed.read(each)) for each in packed.namelist())
        else:
            yield name, data


def unpacked(data: bytes) -> bytes:
    """Return what gzip or zstandard packed; anything else as it is."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


_BETWEEN: Final = re.compile(rb"(?:\s|[^\x00-\x7f]|\x1b\[[\d;]*m|<[^>]{0,80}>|\\n)+")
"""What a page may put into a word that it breaks: blanks, frames, colours, tags."""


def found_in(where: str, data: bytes) -> list[str]:
    """Return where credentials stand, broken over lines too."""
    joined = _BETWEEN.sub(b"", data)
    return sorted({f"{where}: {match[0].decode()}" for text in (data, joined) for match in plants.MARK.finditer(text)})
