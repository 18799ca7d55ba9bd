"""Asks every command for every output, and prints what was looked through."""

import sys
import tempfile
from pathlib import Path
from time import process_time

from tests.secrecy.outputs import REFUSED, lines_of, looked_through, planted_site

with tempfile.TemporaryDirectory() as name:
    site = planted_site(Path(name))
    names = sys.argv[1:] or [*lines_of(site, Path(name))]
    lines, outputs, leaked = 0, 0, 0
    for command in names:
        out = Path(name) / "out" / command.replace(" ", "-")
        out.mkdir(parents=True)
        begun = process_time()
        looked = looked_through(command, site, out)
        lines, outputs, leaked = lines + looked.lines, outputs + looked.outputs, leaked + len(looked.leaked)
        taken = f"{process_time() - begun:.1f} s"
        sys.stdout.write(f"{command:20} {looked.lines:3} lines {looked.outputs:4} outputs {taken:>8}\n")
        for each in looked.refused:
            why = next((why for part, why in REFUSED.items() if part in each), "NOT FORESEEN")
            sys.stdout.write(f"    REFUSED ({why}) {each}\n")
        sys.stdout.write("".join(f"    LEAKED {each}\n" for each in looked.leaked))
        sys.stdout.flush()
    count, kinds = site.planted.count, len(site.planted.kinds)
    sys.stdout.write(f"{count} credentials of {kinds} kinds planted; {len(names)} commands, {lines} lines, {outputs} outputs: ")
    sys.stdout.write(f"{leaked} given away\n")
