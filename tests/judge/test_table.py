from advisor.advice.judge.case import Standing
from advisor.advice.judge.rule import settings_table
from advisor.advice.model.findings import Finding, Want
from advisor.advice.model.sheets import Setting, Verdict

SETTINGS = {
    "os.thp": Setting(
        name="os.thp",
        term="THP",
        title="hugepages",
        where="os",
        type="choice",
        values={"always": "a", "never": "n"},
        reboot="no",
        breaks="-",
    )
}


def asked(rule: str, verdict: Verdict, value: str | None = "always") -> Finding:
    """Return a verdict of a rule that wants a value of the setting."""
    wants = (Want(setting="os.thp", value=value),)
    return Finding(id=rule, title="t", topic="os", verdict=verdict, severity="low", scope=("mpi",), where="os", wants=wants)


def stands(value: str | None) -> tuple[Standing, ...]:
    """Return that the setting stands at a value."""
    return (Standing(name="os.thp", title="hugepages", value=value, sure="high", how="a file"),)


def row(findings: tuple[Finding, ...], value: str | None) -> tuple[str | None, str | None, bool | None]:
    """Return what the row shows."""
    made = settings_table(stands(value), findings, SETTINGS)[0]
    return made.current, made.wanted, made.met


def test_a_rule_that_finds_wants_its_value() -> None:
    """Current and wanted differ."""
    assert row((asked("a", "finding"),), "never") == ("never", "always", False)


def test_a_rule_that_is_content_wants_what_there_is() -> None:
    """A rule that passes on another value than the one it would write leaves it as it is."""
    assert row((asked("a", "pass"), asked("b", "unknown")), "never") == ("never", "never", True)


def test_a_setting_nobody_read_is_neither_met_nor_not() -> None:
    """The wanted value stands, whether it is so is not known."""
    assert row((asked("a", "unknown"),), None) == (None, "always", None)


def test_two_wishes_are_both_shown() -> None:
    """Where rules want different values, both stand there."""
    assert row((asked("a", "finding"), asked("b", "finding", "never")), "x")[1] == "always or never"


def test_settings_that_nobody_knows_and_nobody_wants_have_no_row() -> None:
    """The table holds what is known or wanted."""
    assert settings_table((), (), SETTINGS) == ()
