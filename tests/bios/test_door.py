"""The door to a BMC: who it is, who logs in, and what of it is believed."""

import gc
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from traceback import TracebackException, extract_tb
from types import FrameType
from typing import Any

import pytest
from rich.console import Console
from rich.traceback import Traceback

from advisor.bios.connection import Secret
from advisor.bios.door import Door
from advisor.errors import CannotWork
from tests.bios.admin import Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, ROOT, USER, Bmc
from tests.bios.makers import MAKERS, CrayEx, OpenBmc
from tests.bios.wire import Certificate, Fault, Rack

ROOTS = Path(__file__).parents[2]


def status_of(admin: Admin, bmc: Bmc, *more: object) -> tuple[int, str]:
    """Ask for the status of a BMC over TLS; return how that ends."""
    said = admin.types("bios", "status", "--bmc", bmc.url, *more)
    assert said.lines <= 1
    return said.status, said.err


# by what a BMC is known


def test_a_certificate_that_nobody_signed_is_refused(imitated: Imitated, admin: Admin) -> None:
    """The password never leaves, and both cures are named."""
    bmc = imitated("lenovo", tls=True)
    code, said = status_of(admin, bmc)
    assert (code, bmc.seen, "--ca" in said, "--pin" in said) == (2, [], True, True)


def test_an_authority_that_is_given_is_trusted(imitated: Imitated, admin: Admin, certificate: Certificate) -> None:
    """--ca names the file."""
    assert status_of(admin, imitated("lenovo", tls=True), "--ca", certificate.certificate)[0] == 0


def test_an_authority_of_another_is_not_trusted(imitated: Imitated, admin: Admin) -> None:
    """Another file of authorities does not do."""
    bmc = imitated("lenovo", tls=True)
    other = Certificate.made(admin.folder, "other")
    assert other is not None
    code, _ = status_of(admin, bmc, "--ca", other.certificate)
    assert (code, bmc.seen) == (2, [])


def test_insecure_is_for_one_call_and_in_the_record(imitated: Imitated, admin: Admin) -> None:
    """The next call without it is refused again."""
    bmc = imitated("lenovo", tls=True)
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, admin.record()["verified"], status_of(admin, bmc)[0]) == (0, "not verified (--insecure)", 2)


def test_http_needs_insecure(imitated: Imitated, admin: Admin) -> None:
    """Http sends the password readable to everybody."""
    bmc = imitated("lenovo")
    code, said = status_of(admin, bmc)
    assert (code, bmc.seen, "--insecure" in said) == (2, [], True)


Answers = Callable[[str], None]


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Return what makes a person answer every question with one word."""

    def answer(word: str) -> None:
        def ask(question: str, *, hidden: bool = False) -> str:
            assert "SHA-256" in question
            return word

        monkeypatch.setattr("advisor.cli.bmc_options.ask", ask)

    return answer


def test_a_pin_is_saved_after_a_yes(imitated: Imitated, admin: Admin, at_terminal: Answers) -> None:
    """The certificate is shown once; from then on it is trusted without a question, and the record says how."""
    bmc = imitated("lenovo", tls=True)
    at_terminal("yes")
    assert status_of(admin, bmc, "--pin")[0] == 0
    at_terminal("no")
    words = ("bios", "stage", admin.wish("lenovo"), "--yes", "--record", admin.folder / "record.json", "--bmc", bmc.url)
    assert admin.types(*words).status == 0
    assert (admin.record()["verified"], status_of(admin, bmc, "--pin")[0]) == ("pinned certificate", 0)


@pytest.mark.parametrize("word", ["no", "", "maybe"])
def test_without_a_yes_nothing_is_sent(word: str, imitated: Imitated, admin: Admin, at_terminal: Answers) -> None:
    """No pin is saved, and the BMC sees no request."""
    bmc = imitated("lenovo", tls=True)
    at_terminal(word)
    code, _ = status_of(admin, bmc, "--pin")
    assert (code, bmc.seen, status_of(admin, bmc)[0]) == (2, [], 2)


def test_without_a_terminal_no_pin_is_saved(imitated: Imitated, admin: Admin) -> None:
    """--yes answers other questions: who is behind a certificate is for a person to say."""
    bmc = imitated("lenovo", tls=True)
    code, said = status_of(admin, bmc, "--pin")
    assert (code, bmc.seen, "not confirmed at a terminal" in said) == (2, [], True)


def test_another_certificate_than_the_pinned_one_is_refused(
    rack: Rack, imitated: Imitated, admin: Admin, at_terminal: Answers
) -> None:
    """Who answers now is somebody else: nothing is sent."""
    bmc = imitated("lenovo", tls=True)
    at_terminal("y")
    status_of(admin, bmc, "--pin")
    port = bmc.url.rpartition(":")[2]
    pins = admin.folder / ".config" / "advisor" / "bmc-certificates.json"
    thief = rack.add(MAKERS["lenovo"](), Certificate.made(admin.folder, "thief"))
    pins.write_text(pins.read_text().replace(port, thief.url.rpartition(":")[2]))
    code, said = status_of(admin, thief)
    assert (code, thief.seen, "differs from the pinned one" in said) == (2, [], True)


def test_two_ways_to_trust_do_not_go_together(admin: Admin, certificate: Certificate) -> None:
    """Which of them counts would be a guess."""
    said = admin.types("bios", "status", "--bmc", "bmc01", "--insecure", "--ca", certificate.certificate)
    assert (said.status, said.lines) == (2, 1)


# who logs in


def test_a_login_of_a_file(imitated: Imitated, admin: Admin) -> None:
    """User and password on two lines of a file that is its owner's alone."""
    bmc, file = imitated("lenovo"), admin.folder / "login"
    file.write_text(f"{USER}\n{PASSWORD}\n")
    file.chmod(0o600)
    admin.password = "wrong"
    assert admin.types("bios", "status", "--login-file", file, bmc=bmc).status == 0


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_login_that_others_may_read_is_refused(mode: int, imitated: Imitated, admin: Admin) -> None:
    """The BMC is not asked, and how to close the file is said."""
    bmc, file = imitated("lenovo"), admin.folder / "login"
    file.write_text(f"{USER}\n{PASSWORD}\n")
    file.chmod(mode)
    said = admin.types("bios", "status", "--login-file", file, bmc=bmc)
    assert (said.status, bmc.seen, "chmod 600" in said.err) == (2, [], True)


def test_a_password_of_a_descriptor(imitated: Imitated, admin: Admin) -> None:
    """A shell opens it: --password-fd 3 3< FILE."""
    bmc = imitated("lenovo")
    read, write = os.pipe()
    os.write(write, f"{PASSWORD}\n".encode())
    os.close(write)
    admin.password = "wrong"
    assert admin.types("bios", "status", "--user", USER, "--password-fd", read, bmc=bmc).status == 0


@pytest.mark.parametrize("user", [USER, None])
def test_no_login_is_one_line(user: str | None) -> None:
    """Without a terminal and without variables the cures are named."""
    with pytest.raises(CannotWork, match="--login-file"):
        Door("bmc01", given=(user, None)).open()


def test_a_password_in_the_address_is_refused(admin: Admin) -> None:
    """It would stand in the list of processes: the line does not repeat it."""
    said = admin.types("bios", "status", "--bmc", f"https://{USER}:{PASSWORD}@bmc01")
    assert (said.status, said.lines) == (2, 1)


def test_a_wrong_password_is_tried_once(imitated: Imitated, admin: Admin) -> None:
    """BMCs lock accounts: one login, and no other password is guessed."""
    bmc = imitated("lenovo")
    admin.password = "wrong-one"
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, len(bmc.requests("POST"))) == (2, 1, 1)


def test_a_password_with_a_quote_is_in_no_log(imitated: Imitated, admin: Admin) -> None:
    """The library blots out a password in its log up to the first quote: its log is off."""
    admin.password = f'a"{PASSWORD}'
    said = admin.types("bios", "status", bmc=imitated("lenovo"))
    assert (said.status, said.lines) == (2, 1)


def test_a_password_that_must_change_is_reported_not_changed(imitated: Imitated, admin: Admin) -> None:
    """The session is closed again."""
    bmc = imitated("lenovo", must_change_password=True)
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, bmc.writes(), "change this account's password first" in said.err) == (2, 1, [], True)


def test_the_password_is_in_no_childs_environment(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scontrol is asked before a restart: it sees neither user nor password."""
    folder = admin.folder / "bin"
    folder.mkdir()
    program = folder / "scontrol"
    program.write_text(f"#!/bin/sh\n/usr/bin/env > {admin.folder}/environment\necho 'NodeName=n State=IDLE+DRAIN '\n")
    program.chmod(0o755)
    (admin.folder / "slurm.conf").write_text("ClusterName=x\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", str(admin.folder / "slurm.conf"))
    admin.types("bios", "restart", "--nothing-staged", "--yes", "--node", "n", bmc=imitated("lenovo"))
    assert [line for line in (admin.folder / "environment").read_text().splitlines() if line.startswith("ADVISOR_BMC")] == []


def test_a_process_with_a_password_leaves_no_core(imitated: Imitated, admin: Admin) -> None:
    """Of a process that is logged in no core may be written, by its limit and by its mark."""
    bmc = imitated("lenovo")
    code = (
        "import ctypes, resource\n"
        "from advisor.bios.door import Door\n"
        f"with Door({bmc.url!r}, insecure=True).open():\n"
        "    print(resource.getrlimit(resource.RLIMIT_CORE)[0], ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
    )
    variables = {**os.environ, "ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD}
    said = subprocess.run([sys.executable, "-c", code], env=variables, cwd=ROOTS, capture_output=True, text=True, check=False)
    assert (said.stdout, said.stderr) == ("0 0\n", "")


def test_no_proxy_and_no_netrc_of_the_environment(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the environment send the password nowhere else."""
    for name in ("http_proxy", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (admin.folder / ".netrc").write_text("default login thief password thief\n")
    bmc = imitated("lenovo")
    assert admin.types("bios", "status", bmc=bmc).status == 0
    assert [each for each in bmc.seen if "authorization" in each.headers] == []


def test_the_session_is_closed_after_an_interrupt(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle logs out all the same."""
    bmc = imitated("lenovo")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("advisor.bios.reading._registry", interrupted)
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, bmc.opened, bmc.closed) == (130, 1, 1)


# what a BMC answers


@pytest.mark.parametrize(
    "kind", ["html", "garbage", "empty", "list", "deep", "error", "forbidden", "unauthorised", "always busy"]
)
@pytest.mark.parametrize("path", ["/redfish/v1/", "Sessions", "Systems", "Bios", "Settings"])
def test_a_wrong_answer_is_one_line(kind: str, path: str, imitated: Imitated, admin: Admin) -> None:
    """Whatever answers, and to which request: one line that names the BMC, nothing written, the session closed."""
    bmc = imitated("dell", faults=[Fault(kind, "", path, times=99)])
    said = admin.stages(bmc, admin.wish("dell"))
    assert (said.status, said.lines, bmc.writes(), bmc.url in said.err) == (2, 1, [], True)
    assert len(said.err) < 600
    assert bmc.opened in (0, bmc.closed) or path == "Sessions"


@pytest.mark.parametrize("kind", ["html", "garbage", "empty", "list", "deep", "error", "forbidden", "always busy"])
def test_a_registry_that_cannot_be_read_is_none(kind: str, imitated: Imitated, admin: Admin) -> None:
    """All else is read; the page says why no registry explains it, and nothing is staged that nobody can check."""
    bmc = imitated("dell", faults=[Fault(kind, "", "Registries", times=99)])
    read = admin.types("bios", "read", "--width", "200", bmc=bmc)
    staged = admin.stages(bmc, admin.wish("dell"))
    assert (read.status, "none of its attribute registries can be read: " in read.out) == (0, True), read.err
    assert (staged.status, staged.lines, bmc.writes(), "cannot check SubNumaCluster" in staged.err) == (2, 1, [], True)
    assert bmc.opened == bmc.closed


@pytest.mark.parametrize("kind", ["endless", "packed", "endless headers"])
def test_an_answer_without_end_is_cut(kind: str, imitated: Imitated, admin: Admin) -> None:
    """A body that never ends, a packed one, headers without end: given up after so many bytes."""
    bmc = imitated("lenovo", faults=[Fault(kind, "GET", "Systems", times=99)])
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines) == (2, 1)


@pytest.mark.parametrize("kind", ["silence", "whole"])
def test_a_bmc_that_takes_its_time_is_given_up(
    kind: str, imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a byte for so long, or without the whole answer for longer."""
    monkeypatch.setattr(f"advisor.bios.session.{kind.upper()}", 0.2)
    bmc = imitated("lenovo", faults=[Fault("slow", "GET", "Systems", value="30")])
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, "within 0 seconds" in said.err, len(bmc.requests("GET", "Systems"))) == (2, 1, True, 1)


def test_answers_that_are_slow_together_are_given_up(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in time, and all of them too long: one BMC ends, and logs out."""
    monkeypatch.setattr("advisor.bios.session.ALL", 0.5)
    bmc = imitated("lenovo", faults=[Fault("slow", "GET", "", times=99, value="0.2")])
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, "in total" in said.err, bmc.opened, bmc.closed) == (2, 1, True, 1, 1)


@pytest.mark.parametrize("target", ["http://127.0.0.2:9/redfish/v1/", "//evil.example/redfish/v1", "https://evil.example/"])
@pytest.mark.parametrize("kind", ["redirect", "link"])
def test_nothing_leads_to_another_host(kind: str, target: str, imitated: Imitated, admin: Admin) -> None:
    """Neither a redirect nor a link: the other host is named and not asked."""
    bmc = imitated("lenovo", faults=[Fault(kind, "GET", "Systems", times=99, value=target)])
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, "not followed" in said.err) == (2, 1, True)


@pytest.mark.parametrize("path", ["/cgi-bin/reset", "/redfish/../admin", "file:///etc/passwd", "javascript:alert(1)", ""])
def test_links_lead_below_redfish_alone(path: str, imitated: Imitated, admin: Admin) -> None:
    """A BMC that points elsewhere on itself is not followed either."""
    bmc = imitated("lenovo")
    bmc.alter[bmc.paths["system"]] = lambda told: {**told, "Bios": {"@odata.id": path}}
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, [each.path for each in bmc.seen if not each.path.startswith("/redfish/v1")]) == (2, 1, [])


def test_a_job_on_another_host_is_not_asked(imitated: Imitated, admin: Admin) -> None:
    """A Location is a link too."""
    bmc = imitated("dell")
    bmc.location = lambda _: "https://evil.example/redfish/v1/Tasks/1"  # type: ignore[method-assign, assignment]
    said = admin.stages(bmc, admin.wish("dell"))
    assert (said.status, said.lines, "not followed" in said.err) == (2, 1, True)


def test_a_bmc_without_bios_says_why(rack: Rack, admin: Admin) -> None:
    """OpenBMC: cannot be read here, because."""
    said = admin.types("bios", "read", bmc=rack.add(OpenBmc()))
    assert (said.status, said.lines, "because none of the BMC's systems has a Bios" in said.err) == (2, 1, True)


@pytest.mark.parametrize("attributes", [None, {}, [], "text"])
def test_a_bios_without_attributes_says_why(attributes: object, imitated: Imitated, admin: Admin) -> None:
    """Bmcweb was seen with null: cannot be read here, because."""
    bmc = imitated("lenovo")
    bmc.alter[bmc.paths["bios"]] = lambda told: {**told, "Attributes": attributes}
    said = admin.types("bios", "read", bmc=bmc)
    assert (said.status, said.lines, "cannot be read here, because" in said.err) == (2, 1, True)


def test_attributes_in_objects_are_read(rack: Rack, admin: Admin) -> None:
    """HPE Cray EX wraps each: its plain value counts."""
    bmc = rack.add(CrayEx())
    said = admin.types("bios", "read", "--json", bmc=bmc)
    assert said.document["bios"]["Attributes"]["Rome0075"] == bmc.applied["Rome0075"]


def test_two_systems_are_not_chosen_between(imitated: Imitated, admin: Admin) -> None:
    """Which of them is meant is not known: both are named."""
    bmc = imitated("lenovo")
    own = {"@odata.id": bmc.paths["system"]}
    bmc.alter[f"{ROOT}/Systems"] = lambda told: {**told, "Members": [own, own]}
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, "several systems" in said.err) == (2, 1, True)


@pytest.mark.parametrize(
    "where", ["", "not an address", "ftp://bmc01", "https://bmc01/redfish", "https://bmc01:99999", "http://"]
)
def test_an_address_that_is_none(where: str, admin: Admin) -> None:
    """One line, and nothing is asked."""
    said = admin.types("bios", "status", "--bmc", where)
    assert (said.status, said.lines) == (2, 1)


@pytest.mark.parametrize(
    "kind", ["connect", "request line", "request headers", "effect", "status line", "headers", "half body", "last byte"]
)
def test_a_connection_that_breaks_off_is_one_line(kind: str, imitated: Imitated, admin: Admin) -> None:
    """Nothing is asked twice for it."""
    bmc = imitated(
        "lenovo", faults=[Fault(kind, "" if kind == "connect" else "GET", "" if kind == "connect" else "Bios", times=1)]
    )
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines, bmc.url in said.err) == (2, 1, True)


def test_nobody_there_is_one_line(admin: Admin) -> None:
    """A port that nothing listens on."""
    said = admin.types("bios", "status", "--bmc", "https://127.0.0.1:9")
    assert (said.status, said.lines, "nothing is listening there" in said.err) == (2, 1, True)


def test_letters_that_steer_a_terminal_stay_out_of_pages(imitated: Imitated, admin: Admin) -> None:
    """Names and values of a hostile BMC are printed as plain text."""
    bmc = imitated("lenovo")
    bmc.machine.system["Model"] = "ThinkSystem \x1b[2J<b>x</b>"
    bmc.pending["Processors_SNC"] = "\x1b]0;owned\x07"
    said = admin.types("bios", "status", bmc=bmc)
    assert "\x1b" not in said.out + said.err


# what a traceback shows


class Struck(Exception):  # noqa: N818 - what is thrown into the product
    """What is raised in the middle of something."""


def struck_at(call: int, run: Callable[[], object]) -> BaseException | None:
    """Raise in the n-th call of a function of this room; return what comes out of it, None where there are fewer calls."""
    modules = ("changes", "connection", "door", "reading", "session")
    rooms, count = tuple(f"advisor/bios/{module}.py" for module in modules), [0]

    def strike(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and any(room in frame.f_code.co_filename for room in rooms):
            count[0] += 1
            if count[0] == call:
                sys.settrace(None)
                raise Struck

    sys.settrace(strike)
    try:
        run()
    except BaseException as error:  # noqa: BLE001 - whatever it becomes
        return error
    finally:
        sys.settrace(None)
    return None


def with_locals(error: BaseException, *, rich: bool) -> str:
    """Return all that a traceback can show: of Python's own and of rich, with the locals of every frame, chained."""
    shown, here = [], error
    if rich:
        drawn = Console(file=(page := io.StringIO()), width=300)
        drawn.print(Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True, locals_max_string=10_000))
        shown.append(page.getvalue())
    while here is not None:
        shown += TracebackException.from_exception(here, capture_locals=True).format()
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)  # type: ignore[assignment]
    return "".join(shown)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a call that is made to break leaves its socket open
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what is struck while it closes stays open
@pytest.mark.parametrize("way", ["environment", "file", "descriptor", "question"])
def test_no_traceback_shows_the_password(way: str, imitated: Imitated, admin: Admin) -> None:
    """Whichever call breaks, and however the password came: tracebacks with locals have neither it nor the session's token."""
    bmc = imitated("lenovo")
    (admin.folder / "login").write_text(f"{USER}\n{PASSWORD}\n")
    (admin.folder / "login").chmod(0o600)

    def opened() -> None:
        more: dict[str, Any] = {"ask": lambda _, hidden=False: PASSWORD if hidden else USER} if way == "question" else {}
        if way == "descriptor":
            place = admin.folder / "login"
            more = {"user": USER, "password_fd": os.open(place, os.O_RDONLY)}
            os.lseek(more["password_fd"], len(USER) + 1, os.SEEK_SET)
        if way == "file":
            more = {"login_file": admin.folder / "login"}
        if way == "environment":
            os.environ.update(ADVISOR_BMC_USER=USER, ADVISOR_BMC_PASSWORD=PASSWORD)
        with Door(bmc.url, insecure=True, **more).open() as session:
            session.get("/redfish/v1/Systems")

    tokens = set[str]()
    before = bmc.denied
    bmc.denied = lambda request, path: (tokens.update(bmc.tokens), before(request, path))[1]  # type: ignore[method-assign, func-returns-value]
    found, last = list[str](), 0
    for call in (*range(1, 36), *(range(36, 500, 9) if way == "environment" else ())):
        if (error := struck_at(call, opened)) is None:
            break
        last, text = call, with_locals(error, rich=call % 12 == 0)
        found += [text[: text.index(secret)][-300:] for secret in (PASSWORD, *tokens) if secret in text]
    gc.collect()  # those sockets go here, not in a test that comes later
    assert (found, last < 490, bool(tokens)) == ([], True, way == "environment"), last


def test_an_interrupted_request_leaves_no_frame_with_it(
    imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library holds a request as it is sent: its frames are in no traceback of a Ctrl-C."""
    bmc = imitated("lenovo")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", interrupted)
    monkeypatch.setenv("ADVISOR_BMC_USER", USER)
    monkeypatch.setenv("ADVISOR_BMC_PASSWORD", PASSWORD)
    with pytest.raises(KeyboardInterrupt) as caught, Door(bmc.url, insecure=True).open():
        pass
    frames = [frame.filename for frame in extract_tb(caught.value.__traceback__)]
    assert [name for name in frames if "redfish/rest" in name or "requests" in name] == []


def test_a_secret_is_sent_and_never_shown() -> None:
    """It is a text for JSON and for comparing, and stars to whoever prints it."""
    made = Secret(PASSWORD)
    shown = (repr(made), str(made), f"{made}", f"{made:>40}", "%s %r" % (made, made), str([made]), str({"a": made}))  # noqa: UP031
    assert [each for each in shown if PASSWORD in each or "***" not in each] == []
    assert (made == PASSWORD, json.loads(json.dumps({"Password": made}))) == (True, {"Password": PASSWORD})
