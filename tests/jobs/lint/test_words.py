"""What lint says, to the letter: every warning of the lines that people write, and every option's clause."""

from advisor.jobs.launcher import of_lines
from tests.conftest import Golden
from tests.jobs.lint.test_lines import LINES, told


def test_every_warning_to_the_letter(golden: Golden) -> None:
    """What is wrong, why, how that is known, and the better line; whether it misbinds stands before the name."""
    said: list[str] = []
    for name, version, line, _ in LINES:
        found = told(name, version, line)
        said += [f"$ {line}  [{version or 'any version'}, {name}]", f"  {found.binding}"]
        for each in found.warnings:
            said.append(f"  {'!' if each.misbinds else '-'} {each.id}: {each.what}. {each.why} [{each.evidence}]")
            said += [f"      better: {each.better}"] if each.better else []
    golden("warnings.txt", "\n".join(said) + "\n")


def test_every_option_to_the_letter(golden: Golden) -> None:
    """How many words each option takes, what it says of itself, and by which other names it goes."""
    said: list[str] = []
    for family, spoken in of_lines().items():
        said += [f"{family} {name} {count}: {clause}" for name, (count, clause) in spoken.options.items()]
        said += [f"{family} {alias} is {name}" for alias, name in spoken.aliases.items()]
    golden("options.txt", "\n".join(said) + "\n")
