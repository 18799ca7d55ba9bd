"""Lines for hardware on order that only its model, or its kind of memory, decides."""

import pytest

from tests.cli.said import printed
from tests.cli.test_checklist import lines_of

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("words", [("--cpu", "Xeon Silver 4110"), ("--cpu", "Xeon Gold 6130"), ("--platform", "skylake")])
def test_a_cut_that_the_model_is_not_known_to_offer_is_told_in_words(words: tuple[str, str], capsys: Capture) -> None:
    """SNC was seen on models of 20 cores and more: of others, and of a generation alone, no value is written."""
    found = {item["setting"]: item for item in lines_of(capsys, *words, "--vendor", "dell")}
    assert (found["cpu.snc"]["fix"]["value"], found["cpu.snc"]["wanted"][:5]) == (None, "SNC2,")


@pytest.mark.parametrize("platform", ["grace", "mi300a"])
def test_soldered_memory_has_no_line_about_modules(platform: str, capsys: Capture) -> None:
    """Nobody mirrors it, chooses its speed or its refresh rate."""
    found = {item["setting"] for item in lines_of(capsys, "--platform", platform)}
    assert found & {"memory.mirroring", "memory.speed", "memory.refresh_rate"} == set()


@pytest.mark.parametrize("platform", ["rome", "sapphire-rapids"])
def test_what_several_rules_want_of_a_machine_to_come_is_one_line(platform: str, capsys: Capture) -> None:
    """Slurm's node definition is looked at once, however many ways there are to get it wrong."""
    text = printed(capsys, "checklist", "--platform", platform, "--width", "250")
    steps = [block.splitlines() for block in text.split("\n\n") if "\n[ ] " in block and "BIOS SETTINGS" not in block]
    twice = [line for block in steps for line in set(block) if block.count(line) > 1]
    assert (len(steps) > 4, twice, text.count("ThreadsPerCore as slurmd -C prints")) == (True, [], 1)
