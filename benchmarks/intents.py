"""What plans make of twelve published servers, by intent, beside what an expert would change for MPI.

    python -m benchmarks.intents [FOLDER]

FOLDER has whole captures and registries, NAME*.json of the names in the table (blanks as _); without one the servers are put
together from the facts of tests/know/seen. tests/plan/expert.py has the 48 settings, each with its guide.
"""

import sys
from pathlib import Path

from advisor.advice.model.sheets import INTENTS
from tests.plan.expert import SERVERS, outcome


def main() -> None:
    """Print the table for no intent and for each, then the settings of mpi one by one with their guides."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(f"{'intent':<16}{'wanted':>7}{'planned':>9}{'unchecked':>11}{'left':>6}{'missed':>8}{'wrong':>7}")
    for intent in (None, *INTENTS):
        found = [outcome(name, intent, folder) for name in SERVERS]
        sums = [sum(len(getattr(each, part)) for each in found) for part in ("checked", "unchecked", "left", "missed", "wrong")]
        wanted = sum(len(server.wanted) for server in SERVERS.values())
        print(f"{intent or 'none':<16}{wanted:>7}{sums[0]:>9}{sums[1]:>11}{sums[2]:>6}{sums[3]:>8}{sums[4]:>7}")
    for name, server in SERVERS.items():
        mpi = outcome(name, "mpi", folder)
        print(f"\n{name}: {', '.join(mpi.wrong) or 'nothing wrong'}")
        for setting, (value, ref) in server.wanted.items():
            how = (
                "planned" if setting in mpi.checked else "with --unchecked" if setting in mpi.unchecked else mpi.left.get(setting)
            )
            print(f"  {setting} = {value} [{ref}]: {how or 'MISSED'}")


if __name__ == "__main__":
    main()
