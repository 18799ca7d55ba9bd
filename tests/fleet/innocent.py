"""Equal nodes as they are found in the wild: each booted by PXE with its own words, its DIMMs by whoever sold them that week."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

from advisor.fleet.fleet import ANSWERS, Answer
from advisor.machine.hosts.errands import Outcome
from tests.fleet.planted import AT, ROOT, Shape, noise, shape

MODULES = (("Hynix", "HMA82GR7AFR8N-VK"), ("Smsng", "M393A2K43BB1-CTD"), ("Micrn", "36ASF2G72PZ-2G6D"))
"""Makers and parts of one size, rate and number of ranks; the names are as long as the one that is replaced."""


def command_line(name: str, at: int, chance: random.Random) -> str:
    """Return what a node was started with: its address, its MAC, its name, its disk and its system's UUID are in it."""
    address, mac = f"10.1.{at // 200}.{at % 200 + 10}", "-".join(f"{chance.randrange(256):02x}" for _ in range(6))
    uuid = f"{chance.randrange(1 << 32):08x}-{at:04x}-4abc-8def-{chance.randrange(1 << 48):012x}"
    words = (
        "BOOT_IMAGE=images/rocky9/vmlinuz initrd=images/rocky9/initrd.img",
        f"ip={address}::10.1.255.254:255.255.0.0:{name}:eno1:off nameserver=10.1.255.253",
        f"BOOTIF=01-{mac} hostname={name} systemd.hostname={name}.cluster.site ifname=eno1:{mac.replace('-', ':')}",
        f"root=UUID={uuid} nfsroot=10.1.255.1:/nodes/{name} SYSUUID={uuid.upper()} rd.iscsi.initiator=iqn.2020-01.site:{name}",
        f"inst.ks=http://10.1.255.1/ks/{name}.cfg {mac.replace('-', '')} {name} quiet transparent_hugepage=always",
    )
    return " ".join(words)


def changes(own: Shape, name: str, at: int, chance: random.Random, *, mixed: bool) -> Iterator[tuple[str, bytes]]:
    """Yield what is another on each node, and means nothing; ``mixed``: its DIMMs are of several makers."""
    yield f"{ROOT}proc/cmdline", command_line(name, at, chance).encode() + b"\n"
    path = next(path for path in own.members if path.endswith("tables/DMI"))
    maker, part = (text.encode() for text in MODULES[0])
    first, *pieces = noise(own, name, chance)[path].split(maker)
    sold = chance.choices(MODULES, k=len(pieces)) if mixed else [chance.choice(MODULES)] * len(pieces)
    yield (
        path,
        first
        + b"".join(to.encode() + piece.replace(part, named.encode()) for (to, named), piece in zip(sold, pieces, strict=True)),
    )


def innocents(folder: Path, nodes: int, seed: int = 1, *, mixed: bool = False) -> list[str]:
    """Write a fleet of equal nodes; return their names."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    folder.mkdir(parents=True, exist_ok=True)
    own, names, lines = shape("innocent"), [f"cn{number:05}" for number in range(1, nodes + 1)], []
    for at, name in enumerate(names):
        data = own.copy(noise(own, name, chance) | dict(changes(own, name, at, chance, mixed=mixed)))
        (folder / f"{name}.tar.gz").write_bytes(gzip.compress(data, 1, mtime=0))
        lines.append(Answer(node=name, at=AT, outcome=Outcome.ANSWERED, archive=f"{name}.tar.gz").line())
    (folder / ANSWERS).write_bytes(b"".join(lines))
    return names
