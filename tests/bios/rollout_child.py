"""Goes on with a rollout as a process of its own, which tests kill: the nodes are files that the imitated servers write.

``python -m tests.bios.rollout_child FOLDER``: FOLDER/nodes/NAME has the boot that runs, empty where the node is down;
FOLDER/queue/NAME is there where the node is drained.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from advisor.bios.connection import Secret
from advisor.bios.door import Door
from advisor.bios.drain import REASON, Said
from advisor.bios.rollout import Quick, Runner, policy_of, resumed
from advisor.bios.rollout_steps import Ground, Seen, Steps
from tests.bios.imitation import PASSWORD, USER


class Files:
    """Nodes and scheduler, as files."""

    name = "files"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seen(self, names: Sequence[str]) -> Mapping[str, Seen]:
        """Return what stands in the files of nodes."""
        texts = {name: (self._folder / "nodes" / name).read_text() for name in names}
        return {name: Seen(*text.split()) if text else Seen() for name, text in texts.items()}

    def capture(self, names: Sequence[str], folder: Path) -> Mapping[str, Path]:
        """Return nothing."""
        del names, folder
        return {}

    def measure(self, names: Sequence[str], folder: Path) -> Mapping[str, str]:
        """Measure nothing."""
        del folder
        return dict.fromkeys(names, "a file")

    def state(self, node: str) -> Said:
        """Return whether a node is drained."""
        there = (self._folder / "queue" / node).exists()
        return Said(there, "drained" if there else "up", there, there and (self._folder / "queue" / node).read_text() == REASON)

    def drain(self, node: str) -> None:
        """Drain a node."""
        (self._folder / "queue" / node).write_text(REASON)

    def resume(self, node: str) -> None:
        """Give a node back."""
        (self._folder / "queue" / node).unlink(missing_ok=True)


def main(folder: Path) -> None:
    """Go on with the rollout in a folder, and write how it ended."""
    journal = resumed(folder / "rollout")
    doors = {
        each["node"]: Door(each["bmc"], insecure=True, node=each["node"], given=(USER, Secret(PASSWORD)))
        for each in journal.head["nodes"]
    }
    there = Files(folder)
    ground = Ground(journal.folder, doors, folder / "plan.yaml", policy_of(journal), there, there, clock=Quick(), captures=False)
    done = Runner(journal, Steps(ground), lambda _: True).run()
    (folder / "done.json").write_text(json.dumps(done.document()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
