from advisor.advice.audit_page.explain import explain_page
from advisor.advice.model.findings import Answer, Explanation, Lack, Part, Step
from tests.printing import printed

WHEN = (
    Step(depth=0, text="a < 1 and b", value="false", decides=True),
    Step(depth=1, text="a < 1", value="true", decides=False),
    Step(depth=2, text="a", value="0", where="/proc/a", decides=False),
    Step(depth=1, text="b", value="false", where="/proc/b", decides=True),
)


def told(*answers: Answer) -> Explanation:
    """Return an explanation with these answers."""
    return Explanation(
        id="x-y",
        title="A title",
        topic="x",
        severity="low",
        scope=("mpi",),
        asked="mpi",
        file="rules/x.yaml",
        line=3,
        answers=answers,
    )


def page(explanation: Explanation, *, why_not: bool = False, width: int = 80) -> str:
    """Return the page, without colours."""
    return printed(explain_page(explanation, why_not=why_not), width, crop=True)


def answer(subject: str, verdict: str = "pass") -> Answer:
    """Return a verdict on a subject."""
    return Answer.model_validate({"subject": subject, "verdict": verdict, "parts": (Part(key="when", steps=WHEN),)})


def test_a_tree() -> None:
    """Parts are indented below the whole, each with its value and where it was read."""
    assert "           a < 1 = true\n             a = 0 [/proc/a]\n           b = false [/proc/b]" in page(told(answer("mlx5_0")))


def test_why_not_shows_what_decided() -> None:
    """With why_not only what decided is there."""
    text = page(told(answer("mlx5_0")), why_not=True)
    assert ("no finding, because a < 1 and b = false" in text, "b = false [/proc/b]" in text, "/proc/a" in text) == (
        True,
        True,
        False,
    )


def test_each_kind_of_verdict_is_explained() -> None:
    """Subjects with another verdict are explained apart."""
    text = page(told(answer("one"), answer("two", "finding"), answer("three")))
    assert ("one: PASS" in text, "two: FINDING" in text, "same verdict for three" in text) == (True, True, True)


def test_what_lacks() -> None:
    """What lacks stands with its cure."""
    lack = Lack(fact="b", why="permission denied", help="run as root")
    text = page(told(Answer(verdict="unknown", lacks=(lack,))))
    assert "b: permission denied -> run as root" in text


def test_hostile_texts_steer_nothing() -> None:
    """Control characters in a value or a path are shown as question marks."""
    step = Step(depth=0, text="a", value="\x1b[31m", where="/x\x07", decides=True)
    text = page(told(Answer(subject="\x1b", verdict="finding", parts=(Part(key="when", steps=(step,)),))))
    assert ("\x1b" in text, "\x07" in text) == (False, False)


def test_narrow() -> None:
    """No line is wider than the terminal."""
    assert max(map(len, page(told(answer("mlx5_0")), width=40).splitlines())) <= 40
