"""Writes the pages about rules, settings, platforms and vendors from the sheets themselves. Run by docs/generate.py."""

import json

from advisor.advice.audit_page.explain import rule_page
from advisor.advice.expression_tree import UNITS, VERBS
from advisor.advice.judge.rule import facts_of_rules
from advisor.advice.judgement import own_rules
from advisor.advice.know.vendors import publications, settings, vendors
from advisor.advice.model.sheets import Setting
from advisor.measure.platform import Platform, Reference, platforms
from docs.schemas import rule_schema

NOTE = "<!-- Written by `make docs`; do not edit. -->\n\n"


def pages() -> dict[str, str]:
    """Return every page by file name."""
    return {
        "rule-facts.md": rule_facts(),
        "settings.md": setting_page(),
        "platforms.md": platform_page(),
        "publications.md": publication_page(),
        "rules.md": rule_index(),
        "rule.schema.json": json.dumps(rule_schema(), indent=1) + "\n",
        **{f"rules-{topic}.md": text for topic, text in topic_pages().items()},
    }


def rule_facts() -> str:
    """Return the page of all facts, verbs and units that a rule may use."""
    head = "# What rules can use\n\nFacts have dotted names; lists are iterated: `any(node.memory == 0 for node in nodes)`.\n\n"
    head += "| fact | kind | unit | meaning |\n| --- | --- | --- | --- |\n"
    rows = "".join(f"| `{name}` | {kind} | {unit} | {text} |\n" for name, kind, unit, text in facts_of_rules(settings()))
    verbs = "".join(
        f"| `{name}({', '.join(map(str, verb.takes))})` | {verb.gives} | {_first_line(verb.about)} |\n"
        for name, verb in VERBS.items()
    )
    units = ", ".join(f"`{unit}` {factor:g}" for unit, factor in UNITS.items())
    return f"{NOTE}{head}{rows}\n## Verbs\n\n| verb | returns | |\n| --- | --- | --- |\n{verbs}\nUnits are factors: {units}.\n"


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


_WITNESSES = {
    "system": "the system",
    "register": "a register (`modprobe msr`, root)",
    "firmware": "the firmware at run time (HSMP, ACPI)",
    "BIOS": "the BIOS",
}


def setting_page() -> str:
    """Return the page of the settings: what each may be, how it is read, what makers call it."""
    bios = [each for each in settings().values() if each.where == "bios"]
    told = sum(bool(each.read) for each in bios)
    makers = {maker: [each for each in bios if not each.makers or maker in each.makers] for maker in ("amd", "intel")}
    shares = {maker: f"{sum(bool(each.read) for each in own)} of {len(own)}" for maker, own in makers.items()}
    head = (
        "Each setting has one neutral name, regardless of the server's vendor.\n\n"
        f"Of {len(bios)} BIOS settings, root can see {told} on a running system without a BMC, on at least some processors; "
        "the entry of each other setting says why it cannot be seen. A server has only the settings of its processor "
        f"vendor. With AMD processors {shares['amd']} can be seen, with Intel processors {shares['intel']}; fewer with older "
        "processors, or if the firmware does not support HSMP. A setting that nothing shows has one of three reasons: it is "
        "in a memory controller, the data fabric or a link, whose registers can be reached only by writing an index first "
        "or are not publicly documented; it is several settings under one name; or only the management controller has it. A "
        "register shows the current state, which the kernel or a tool may have written since boot. Each entry therefore "
        "gives its confidence, and it is a finding if two witnesses differ.\n"
    )
    parts = [f"{NOTE}# Settings\n\n{head}"]
    parts += [_setting(name, setting) for name, setting in settings().items()]
    return "\n".join(parts)


def _setting(name: str, setting: Setting) -> str:
    values = "".join(f"- `{value}`: {meaning}\n" for value, meaning in setting.values.items())
    reads = "".join(f"- {_WITNESSES[reading.by]}: {reading.how} ({reading.sure})\n" for reading in setting.read)
    if reads and setting.where == "bios":
        reads += "- the BIOS itself: `advisor audit --bmc HOST` or `--bios FILE`; used if the other sources show nothing\n"
    ask = " To read the setting from the BIOS: `advisor audit --bmc HOST` or `--bios FILE`." if setting.where == "bios" else ""
    unseen = (
        f"Nothing on a running system shows this setting: {setting.hidden}.{ask}\n"
        if setting.hidden
        else f"The operating system does not show this setting.{ask}\n"
    )
    makers = "".join(
        f"- {vendor.name}: {', '.join(dict.fromkeys(entry.label for entry in vendor.settings[name]))}\n"
        for vendor in vendors().values()
        if name in vendor.settings
    )
    shown = f"Shown by `{setting.show}`.\n" if setting.show else ""
    facts = f"{setting.title}. Where: {setting.where}. Restart: {setting.reboot}. Can break: {setting.breaks}\n"
    return "\n".join(
        part
        for part in (
            f"\n## {name}\n",
            facts,
            values,
            f"Where the setting can be seen, highest priority first:\n\n{reads}" if reads else unseen,
            shown,
            f"Vendors' names for the setting:\n\n{makers}" if makers else "",
        )
        if part
    )


def platform_page() -> str:
    """Return the page of the platforms: what cannot be read from a machine, with its sources."""
    parts = [f"{NOTE}# Platforms\n\nData that cannot be read from a machine. Every figure cites its publication.\n"]
    parts += [_platform(platform) for platform in platforms()]
    return "\n".join(parts)


def _platform(platform: Platform) -> str:
    figures = (
        ("DP FLOP per cycle and core", platform.flops_per_cycle, "flops_per_cycle"),
        ("memory channels per socket", platform.channels, "channels"),
        ("memory", platform.memory_kind, "memory_kind"),
        ("PCIe generation", platform.pcie, "pcie"),
    )
    rows = "".join(
        f"- {title}: {f'{value:g}' if isinstance(value, (int, float)) else value} [{platform.sources[key]}]\n"
        for title, value, key in figures
        if value is not None
    )
    cuts = "".join(
        f"- {cut.name}: {cut.nodes} node{'s' if cut.nodes > 1 else ''} per {cut.per}"
        f"{f'; number of dies a multiple of {cut.dies_multiple_of}' if cut.dies_multiple_of else ''}"
        f"{f'; from {cut.min_cores} cores' if cut.min_cores else ''}"
        f"{'; it is not known which processors offer this' if cut.offered == 'unknown' else ''} [{cut.source}]\n"
        for cut in platform.cuts
    )
    best = "".join(f"- {', '.join(advice.scopes)}: {advice.cut} [{advice.source}]\n" for advice in platform.best)
    results = "".join(_reference(reference) for reference in platform.references)
    table = f"| result | value | condition | source |\n| --- | --- | --- | --- |\n{results}" if results else ""
    elder = f"\nAnything missing from this sheet is taken from `{platform.inherits}`.\n" if platform.inherits else ""
    head = f"\n## {platform.name} (`{platform.id}`)\n\nTraits: {platform.told}.\n{elder}"
    return f"{head}\n{rows}\nNUMA partitioning:\n\n{cuts}\nRecommended:\n\n{best}\n{table}"


def _reference(reference: Reference) -> str:
    amount = reference.value
    low, high = ("" if end is None else f"{end:.4g}" for end in (amount.low, amount.high))
    value = low if low == high else f"{low}..{high}"
    parts = [", ".join(reference.cpus), f"{reference.sockets} sockets" if reference.sockets else "", reference.cut or ""]
    parts += [f"{reference.cores} cores" if reference.cores else "", reference.condition or "", reference.fabric or ""]
    condition = "; ".join(part for part in parts if part)
    return f"| {reference.benchmark}, {reference.of} | {value} {amount.unit} | {condition} | {reference.source} |\n"


def publication_page() -> str:
    """Return the page of the publications by the id under which they are cited."""
    rows = "".join(
        f"| `{name}` | {each.title} | {each.by} | {each.year or ''} | {each.where} |\n" for name, each in publications().items()
    )
    return f"{NOTE}# Publications\n\n| id | title | by | year | where |\n| --- | --- | --- | --- | --- |\n{rows}"


def rule_index() -> str:
    """Return the page that lists all rules."""
    rows = "".join(
        f"| [{rule.id}](rules-{rule.topic}.md#{rule.id}) | {rule.text.severity} | {rule.where} | {rule.text.title} |\n"
        for rule in own_rules().rules
    )
    head = "# Rules\n\nrules/README.md explains how to write one.\n\n| rule | severity | where | |\n| --- | --- | --- | --- |\n"
    return f"{NOTE}{head}{rows}"


def topic_pages() -> dict[str, str]:
    """Return a page for each topic, its rules in full."""
    found: dict[str, list[str]] = {}
    for rule in own_rules().rules:
        found.setdefault(rule.topic, []).append(rule_page(rule.text, rule.topic, rule.where, publications()))
    return {topic: f"{NOTE}" + "\n\n".join(texts) + "\n" for topic, texts in found.items()}
