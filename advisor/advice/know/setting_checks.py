"""What `advisor rules check` finds in the sheet of settings: what one leaves out, and what contradicts another."""

import ast
from collections.abc import Iterator
from typing import Final

from advisor.advice.know.settings import settings
from advisor.advice.know.vendors import publications
from advisor.advice.model.setting import Setting
from advisor.errors import BadSheet, did_you_mean
from advisor.paths import rules
from advisor.sheets import Sheet, read_sheet

_SAID: Final = (
    ("menu", ("bios",), "its usual names in setup menus, the most usual first"),
    ("show", ("boot", "os", "fabric", "scheduler"), "the command that shows the present value on Linux"),
    ("set", ("boot", "os", "fabric", "scheduler"), "how the operating system takes it; null where nothing but a person can"),
    ("read", ("boot", "os", "fabric", "scheduler"), "how facts show it; [] where none does: rules on it stay unknown then"),
)
"""What a setting of some places says of itself, or that there is nothing to say."""


def setting_mistakes() -> Iterator[BadSheet]:
    """Yield settings that leave out what the product needs, cite nothing or no publication, or read words they do not have."""
    known, sheet = publications(), read_sheet(rules() / "settings.yaml")
    for name, each in settings().items():
        for key, places, means in _SAID:
            if each.where in places and key not in each.model_fields_set:
                yield sheet.wrong((name,), f"{name} does not say {key}", f"write {key}: {means}")
        for number, reading in enumerate(each.read):
            for word in _yielded(reading.value):
                if not each.takes(word):
                    there = f"there are {', '.join(each.values)}" if each.values else f"a {each.type} is expected"
                    cure = did_you_mean(str(word), each.values, there)
                    yield sheet.wrong((name, "read", number), f"{name} reads {word}, which is no value of it", cure)
        yield from _placed(name, each, sheet)
        if not each.sources:
            yield sheet.wrong((name,), f"{name} has no sources", "write: sources: [ID], of rules/sources.yaml")
        for number, source in enumerate(each.sources):
            if source not in known:
                cure = did_you_mean(source, known, "rules/sources.yaml has them")
                yield sheet.wrong((name, "sources", number), f"{name} cites {source}, which rules/sources.yaml has not", cure)


def _placed(name: str, setting: Setting, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield a name or a term that misleads, a companion that there is none of, and no word on why nothing shows it."""
    if setting.where == "bios" and bool(setting.read) == bool(setting.hidden):
        said = "is read, and says why it is hidden" if setting.read else "is not read, and does not say why"
        cure = "take hidden out" if setting.read else "write read, or hidden: why nothing in a running system shows it"
        yield sheet.wrong((name,), f"{name} {said}", cure)
    others = {other: each for other, each in settings().items() if other != name}
    group = name.partition(".")[0]
    groups = {other.partition(".")[0] for other in others}
    like = [each.where == "bios" for other, each in others.items() if other.startswith(f"{group}.")]
    near = None if like else did_you_mean(group, groups, None, cutoff=0.7)
    if near:
        yield sheet.wrong((name,), f"no other setting is called {group}.*", near)
    elif like and (setting.where == "bios") not in like:
        said = f"where: {setting.where}, but {group}.* are settings of {'the BIOS' if like[0] else 'the operating system'}"
        yield sheet.wrong((name, "where"), said, "correct it, or give the setting the name of another group")
    before = {other: each for other, each in others.items() if sheet.line((other,)) < sheet.line((name,))}
    if same := next((other for other, each in before.items() if each.term.lower() == setting.term.lower()), None):
        yield sheet.wrong((name, "term"), f"{same} has the term {setting.term} too", "each setting has its own")
    if "name" in sheet.data[name]:
        yield sheet.wrong((name, "name"), "a setting is called by its key", "take name out")
    for value, other in setting.only_with.items():
        if other not in others:
            cure = did_you_mean(other, others, "rules/settings.yaml has them")
            yield sheet.wrong((name, "only_with", value), f"{other[:60]} is not a setting", cure)


def _yielded(expression: str) -> tuple[str | int, ...]:
    """Return the words that a reading yields, as far as it writes them out; what is no expression is said elsewhere."""
    try:
        todo = [ast.parse(expression, mode="eval").body]
    except SyntaxError:
        return ()
    found: list[str | int] = []
    for tree in todo:
        if isinstance(tree, ast.IfExp):
            todo += [tree.body, tree.orelse]
        elif isinstance(tree, ast.Constant) and isinstance(tree.value, str | int):
            found.append(tree.value)
    return tuple(found)
