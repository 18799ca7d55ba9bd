"""Writes the bill of materials (CycloneDX 1.6, JSON) of what dist/bundle holds: every release that packaging/lock.txt names.

Who needs what comes from the lock's own notes, licences from the packages' metadata in the bundle. Two runs give the same bytes.
"""

import argparse
import json
import os
import re
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "packaging" / "lock.txt"
PRODUCT = "hpc-advisor"
_HEAD = 4
"""Words at the beginning of a licence that name it: Apache License Version 2.0."""


@dataclass
class Release:
    """A release that the lock names."""

    name: str
    version: str
    only: str = ""
    hashes: list[str] = field(default_factory=list)
    needed_by: list[str] = field(default_factory=list)

    @property
    def purl(self) -> str:
        """Return its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def releases(text: str) -> list[Release]:
    """Return what a lock names, in its order."""
    found: list[Release] = []
    for line in text.splitlines():
        if begun := re.match(r"([a-z0-9-]+)==([^ ;]+)(?: ; (.*?))? *\\?$", line):
            found.append(Release(begun[1], begun[2], begun[3] or ""))
        elif digest := re.search(r"--hash=sha256:([0-9a-f]{64})", line):
            found[-1].hashes.append(digest[1])
        elif found and (why := re.match(r" +#(?: via|  ) +([a-z0-9-]+)(?: \(.*\))?$", line)):
            found[-1].needed_by.append(why[1])
    return [each for each in found if "win32" not in each.only]


def licence(bundle: Path, release: Release) -> str:
    """Return what a package's own metadata calls its licence, or how that begins; an empty text where neither is there."""
    names = (release.name.replace("-", "_"), release.name)
    at = (path for name in names for path in sorted(bundle.glob(f"*/{name}-{release.version}.dist-info/METADATA")))
    for path in at:
        said = HeaderParser().parsestr(path.read_text(encoding="utf-8"))
        short = (said.get("License-Expression"), said.get("License"))
        classified = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier", []) if line.startswith("License ::")]
        texts = (text for name in said.get_all("License-File", []) for text in path.parent.rglob(Path(name).name))
        heads = (" ".join(text.read_text(encoding="utf-8").split()[:_HEAD]).rstrip(",") for text in sorted(texts))
        return next((text for text in (*short, *classified, *heads) if text and "\n" not in text and len(text) < 60), "")
    return ""


def bill(lock: str, version: str, licences: Mapping[str, str], made: int) -> dict[str, Any]:
    """Return the document."""
    named = releases(lock)
    own = f"pkg:generic/advisor@{version}"
    references = {PRODUCT: own} | {each.name: each.purl for each in named}
    needs: dict[str, list[str]] = {reference: [] for reference in references.values()}
    for each in named:
        for who in each.needed_by:
            needs[references[who]].append(each.purl)
    about = {"type": "application", "bom-ref": own, "name": "advisor", "version": version, "purl": own}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**about, "licenses": [{"license": {"id": "Apache-2.0"}}]},
        },
        "components": [component(each, licences.get(each.name, "")) for each in named],
        "dependencies": [{"ref": ref, "dependsOn": sorted(on)} if on else {"ref": ref} for ref, on in sorted(needs.items())],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


def component(release: Release, terms: str) -> dict[str, Any]:
    """Return a package as the document has it, with the hash of every file that the lock accepts for it."""
    hashes = [{"alg": "SHA-256", "content": each} for each in sorted(release.hashes)]
    return {
        "type": "library",
        "bom-ref": release.purl,
        "name": release.name,
        "version": release.version,
        "purl": release.purl,
        **({"licenses": [{"license": {"name": terms}}]} if terms else {}),
        "externalReferences": [{"type": "distribution", "url": release.purl, "hashes": hashes}],
    }


def main(arguments: Sequence[str]) -> int:
    """Write the document."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", dest="out", type=Path, required=True, help="the file to write")
    parser.add_argument("--bundle", type=Path, default=ROOT / "dist" / "bundle", help="the folder that bundle.py made")
    options = parser.parse_args(arguments)
    lock = LOCK.read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "(.*)"', (ROOT / "advisor/__init__.py").read_text(encoding="utf-8"), re.MULTILINE)[0]
    licences = {each.name: licence(options.bundle, each) for each in releases(lock)}
    made = bill(lock, version, licences, int(os.environ.get("SOURCE_DATE_EPOCH", "1580601600")))
    options.out.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    bare = [each.name for each in releases(lock) if not (each.hashes and licences[each.name])]
    if bare:
        sys.stderr.write(
            f"{options.out}: no hash or no licence is known of {', '.join(bare)}; look at them before they are carried\n"
        )
        return 2
    sys.stdout.write(f"{options.out}: {len(made['components'])} packages, each with its hashes and its licence\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
