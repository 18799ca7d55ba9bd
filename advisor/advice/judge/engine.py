"""Asks every rule of a Case, and lays a site's waivers over the findings. Pure: nothing read, no clock."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from advisor.advice.judge.evidence import Origins, evidence
from advisor.advice.judge.rule import SITE, Rule, disputed
from advisor.advice.judge.scope import env_of
from advisor.advice.judge.settings import wanted_values
from advisor.advice.language.kinds import Trouble, Unknown
from advisor.advice.language.sentences import Sentence, written_value
from advisor.advice.language.tree import STEPS, Env, Node, facts_of
from advisor.advice.model.case import Case
from advisor.advice.model.findings import Cost, Finding, Lack
from advisor.advice.model.rule import BOUNDS, SEVERITIES, Basis, RuleText, Severity, Verdict, Waiver
from advisor.advice.model.setting import Setting


@dataclass(frozen=True)
class Asked:
    """A rule asked of one subject: the values its names stood for, and what came out."""

    rule: Rule
    env: Env
    verdict: Verdict
    subject: str | None
    said: str | None
    missing: frozenset[str] = frozenset()


def judge(case: Case, rules: Iterable[Rule], settings: Mapping[str, Setting], origins: Origins) -> tuple[Finding, ...]:
    """Return the verdict of every rule on every subject."""
    env = env_of(case, settings)
    return tuple(finding(asked, origins) for rule in rules for asked in ask(rule, case, env))


def ask(rule: Rule, case: Case, env: Env) -> Iterator[Asked]:
    """Yield the verdicts of one rule, one for each item it runs over."""
    if case.scope not in rule.text.scope:
        yield _of_other_work(rule, case, env)
        return
    env = {**env, "_steps": [STEPS]}
    if rule.each is None:
        yield _one(rule, env, None)
        return
    try:
        items = rule.each.over.value(env)
    except Trouble as trouble:
        yield Asked(rule, env, "error", None, str(trouble))
        return
    if isinstance(items, Unknown):
        yield Asked(rule, env, "unknown", None, None, items.facts)
    elif not items:
        yield Asked(rule, env, "not-applicable", None, f"there is nothing in {rule.each.over.text}")
    else:
        for item in items:
            if isinstance(item, Unknown):  # perhaps it is not there at all
                yield Asked(rule, env, "unknown", rule.each.name, None, item.facts)
                continue
            inner = {**env, rule.each.name: item, "_steps": [STEPS]}
            yield _one(rule, inner, _name(rule.each.name, item))


def ask_of_any(rule: Rule, case: Case, env: Env) -> Asked:
    """Return the verdict of a rule; one that runs over a list is asked once, of an item of which nothing is known."""
    if case.scope not in rule.text.scope:
        return _of_other_work(rule, case, env)
    env = {**env, "_steps": [STEPS]}
    if rule.each:
        env[rule.each.name] = Unknown(frozenset({rule.each.fact}))
    return _one(rule, env, None)


def _of_other_work(rule: Rule, case: Case, env: Env) -> Asked:
    return Asked(rule, env, "not-applicable", None, f"matters for {', '.join(rule.text.scope)}, not for {case.scope}")


def _name(variable: str, item: Any) -> str:
    """Return what an item is called: its name, or the variable and its number."""
    if not isinstance(item, (Mapping, BaseModel)):
        return written_value(item) if isinstance(item, str) else f"{variable} {written_value(item)}"
    for key in ("name", "locator", "address", "index", "socket", "number"):
        value = item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)
        if isinstance(value, str):
            return written_value(value)
        if value is not None:
            return f"{variable} {written_value(value)}"
    return variable


def _one(rule: Rule, env: Env, subject: str | None) -> Asked:
    try:
        for name, node in rule.let:
            env[name] = node.value(env)
        if rule.subject and not (rule.each and isinstance(env[rule.each.name], Unknown)):
            subject = rule.subject.fill(env)
        applies = rule.only.value(env) if rule.only else True
        if isinstance(applies, Unknown):
            return Asked(rule, env, "unknown", subject, None, applies.facts)
        if not applies:
            return Asked(rule, env, "not-applicable", subject, f"does not apply: {rule.text.only} is false")
        fires = rule.when.value(env)
        if isinstance(fires, Unknown):
            return Asked(rule, env, "unknown", subject, None, fires.facts)
        return Asked(rule, env, "finding" if fires else "pass", subject, rule.say.fill(env) if fires else None)
    except Trouble as trouble:
        return Asked(rule, env, "error", subject, str(trouble))


def finding(asked: Asked, origins: Origins) -> Finding:
    """Return the whole record of a verdict."""
    rule, text, env = asked.rule, asked.rule.text, {**asked.env, "_steps": [STEPS]}
    told = asked.verdict == "finding"
    applies = asked.verdict in ("finding", "pass", "unknown")
    cost = _cost(rule, env) if told else None
    basis = _basis(rule, cost, env) if told else "disputed" if disputed(text) else text.basis
    return Finding.model_construct(
        id=text.id,
        title=text.title,
        topic=rule.topic,
        verdict=asked.verdict,
        severity=weighed(text, cost, basis) if told else text.severity,
        basis=basis,
        scope=text.scope,
        where=rule.where,
        subject=asked.subject,
        claim=asked.said,
        why=text.why,
        evidence=evidence(_grounds(rule), env, origins) if told else (),
        lacks=lacks(asked, origins),
        cost=cost,
        wants=wanted_values(rule.wants, env) if applies else (),
        want=text.want,
        advice=_filled(rule.fix, env) if applies else None,
        fix=(),
        check=_filled(rule.check, env) if applies else None,
        undo=_filled(rule.undo, env) if applies else None,
        spare=text.spare,
        guides=text.guides,
        refs=text.refs,
        waived=None,
    )


def _grounds(rule: Rule) -> list[Node]:
    """Return the expressions that a verdict rests on, those of named values where they are used."""
    nodes = [node for node in (rule.only, rule.when) if node]
    used = {name.partition(".")[0] for name in _facts(rule, (fact for node in nodes for fact in facts_of(node)), keep=True)}
    return [*nodes, *(node for name, node in rule.let if name in used)]


def lacks(asked: Asked, origins: Origins) -> tuple[Lack, ...]:
    """Return why facts that a verdict misses are not known; all that the rule looks at shows which measurement it is about."""
    return origins.lacks(_facts(asked.rule, asked.missing), _looked(asked.rule)) if asked.missing else ()


def _looked(rule: Rule) -> Iterator[str]:
    """Yield what a rule may look at; its expressions are read only if somebody asks."""
    yield from _facts(rule, (fact for node in _grounds(rule) for fact in facts_of(node)))


def _facts(rule: Rule, names: Iterable[str], *, keep: bool = False) -> set[str]:
    """Return facts with those behind named values in their place; keep the names as well if so asked."""
    let, found, todo = dict(rule.let), set(), list(names)
    while todo:
        name = todo.pop()
        node = let.get(name.partition(".")[0])
        if name not in found and node is not None:
            todo += [fact for fact in facts_of(node) if fact not in found]
        if node is None or keep:
            found.add(name)
    return found


def _filled(sentence: Sentence | None, env: Env) -> str | None:
    try:
        return sentence.command(env) if sentence else None
    except Trouble as trouble:
        return f"({trouble})"


def _cost(rule: Rule, env: Env) -> Cost | None:
    """Return what it costs: as measured on this machine where that is known, else as the rule has it."""
    cost = rule.text.cost
    if cost is None:
        return None
    measured = _number(rule.measured, env)
    if measured is not None:
        return Cost(gain=measured, of=cost.measured_of or cost.of, basis="measured")
    return Cost(gain=_number(rule.gain, env), of=cost.of, basis=cost.basis, ref=cost.ref)


def _basis(rule: Rule, cost: Cost | None, env: Env) -> Basis:
    """Return what the severity of a finding rests on: guides that differ, a number, a fault, guides that agree."""
    if disputed(rule.text):
        return "disputed"
    if cost is not None and cost.gain is not None:
        return cost.basis
    if rule.text.basis == "fault":
        return "fault"
    if rule.agree is not None:
        return "guides" if _number(rule.agree, env) else "elsewhere"
    elsewhere = cost is not None and cost.basis == "published" and not rule.text.guides
    return "elsewhere" if elsewhere else "guides"


def weighed(text: RuleText, cost: Cost | None, basis: Basis) -> Severity:
    """Return how bad a finding is: what is surely lost, and no more than its rule and its basis allow."""
    if basis in ("disputed", "elsewhere"):
        return "info"
    if basis == "fault":
        return text.severity
    if basis == "guides":
        most: Severity = "high" if SITE in text.refs else "medium"  # a site's own rule is the guide that counts there
    else:
        bound = cost.gain if cost and cost.gain else 0.0
        most = next((severity for least, severity in BOUNDS if bound > least or bound == least > 0), "info")
    return max(text.severity, most, key=SEVERITIES.index)


def _number(node: Node | None, env: Env) -> float | None:
    """Return what an expression yields; None where that is not known."""
    try:
        value = node.value(env) if node else None
    except Trouble:
        return None
    return None if value is None or isinstance(value, Unknown) else float(value)


def waive(findings: Iterable[Finding], waivers: tuple[Waiver, ...], host: str | None, today: str) -> tuple[Finding, ...]:
    """Return the findings, those that a waiver covers today marked so, with its reason."""
    holding = {w.id: w for w in reversed(waivers) if today <= w.until and any(_fits(pattern, host) for pattern in w.hosts)}
    return tuple(_waived(finding, holding.get(finding.id)) for finding in findings)


def _waived(finding: Finding, waiver: Waiver | None) -> Finding:
    if waiver is None or finding.verdict != "finding":
        return finding
    return finding.model_copy(update={"verdict": "waived", "waived": f"{waiver.reason} (until {waiver.until})"})


def _fits(pattern: str, host: str | None) -> bool:
    """Return whether a pattern with * and ? means the host; a host without a name is meant by * alone."""
    if host is None:
        return pattern == "*"
    pattern, host = pattern.lower(), host.lower()
    at = here = 0
    star, kept = -1, 0  # the last *, and where what it stands for ends so far: no pattern takes more than length times length
    while here < len(host):
        if at < len(pattern) and pattern[at] == "*":
            star, kept, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in ("?", host[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            kept += 1
            at, here = star + 1, kept
        else:
            return False
    return not pattern[at:].strip("*")
