"""Reads the XML of hwloc 2.x and 3.x into objects with their parents; nothing in it is trusted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from advisor.errors import BadValue, BadXml
from advisor.machine.cpuset import LIMIT, CpuSet
from advisor.machine.value import number

__all__ = ["Document", "Element", "Infos", "children_infos", "cpuset", "os_index", "parse_document", "place", "whole_number"]

MOST_OBJECTS = 200_000
MOST_TAGS = 600_000
MOST_ATTRIBUTES = 2_000_000
"""4,096 PUs with all their caches are 21,000 tags of 112,000 attributes; at these limits the tree takes 400 MiB."""
MOST_ENDLESS = 1000
DEEPEST = 64

Infos = dict[str, str]


@dataclass(frozen=True)
class Document:
    """An hwloc XML: its objects in document order, and each one's parent."""

    top: Element
    root: Element
    objects: tuple[Element, ...]
    parents: dict[int, Element]
    version: int

    def parent(self, element: Element) -> Element | None:
        """Return the object that holds the given one, or None for the machine."""
        return self.parents.get(id(element))

    def of_type(self, *types: str) -> tuple[Element, ...]:
        """Return the objects of the given types, in document order."""
        return tuple(element for element in self.objects if element.get("type") in types)


def parse_document(data: bytes, where: str) -> Document:
    """Return the document, or raise BadXml with the reason it cannot be one."""
    top = _parse(data, where)
    if top.tag != "topology":
        raise BadXml(
            f"its first element is <{_word(top.tag)}>, not <topology>", file=where, cure="give an XML written by lstopo --of xml"
        )
    version = _version(top, where)
    root = top.find("object")
    if root is None or root.get("type") != "Machine":
        raise BadXml("no Machine object in it", file=where, cure="give an XML written by lstopo --of xml")
    if root.get("cpuset") is None:
        raise BadXml("the Machine object has no cpuset", file=where, cure="write it again with lstopo 2.0 or newer")
    parents: dict[int, Element] = {}
    objects = tuple(_walk(root, parents, where))
    return Document(top, root, objects, parents, version)


def children_infos(element: Element) -> Infos:
    """Return the name and value pairs that an object carries."""
    return {info.get("name", ""): info.get("value", "") for info in element.findall("info")}


def cpuset(element: Element, name: str) -> CpuSet | None:
    """Return a bitmap attribute of an object as a set, or None where it has none."""
    text = element.get(name)
    if text is None:
        return None
    try:
        return CpuSet.from_mask(text)
    except BadValue as error:
        raise BadXml(f"{name}: {error.problem}", place=place(element), cure=error.cure) from error


def whole_number(element: Element, name: str) -> int | None:
    """Return a whole number attribute of an object, or None where it has none."""
    text = element.get(name)
    value = number(text)
    if text is not None and value is None:
        raise BadXml(
            f"{name}={_word(text)!r} is not a whole number", place=place(element), cure="write the file again with lstopo"
        )
    return value


def os_index(element: Element) -> int:
    """Return the kernel's number of a PU or a NUMA node, which has to have one."""
    index = whole_number(element, "os_index")
    if index is None or not 0 <= index < LIMIT:
        problem = "an object without os_index" if index is None else f"os_index {index} is out of range"
        raise BadXml(problem, place=place(element), cure="write it again with lstopo")
    return index


def place(element: Element) -> str:
    """Return words that find an object in its file."""
    named = [f"{key}={_word(element.get(key, ''))}" for key in ("os_index", "gp_index", "name") if element.get(key)]
    return " ".join([_word(element.get("type", "object")), *named])


def _parse(data: bytes, where: str) -> Element:
    # Before they take many times the memory of the file: elements, attributes, and sets of a million CPUs in seven letters.
    if data.count(b"<") > MOST_TAGS or data.count(b"=") > MOST_ATTRIBUTES or data.count(b"f...f") > MOST_ENDLESS:
        raise BadXml("more elements than any machine has", file=where, cure="refused as unsafe")
    # Imported here: half the start-up time of a command that reads no XML.
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        parsed: Any = fromstring(data)
    except ParseError as error:
        line, column = error.position
        raise BadXml(
            f"not well-formed XML ({str(error).split(':')[0]})",
            file=where,
            place=f"line {line}, column {column}",
            cure="write it again with lstopo",
        ) from error
    except DefusedXmlException as error:
        raise BadXml("it declares entities, which no hwloc XML does", file=where, cure="refused as unsafe") from error
    except (ValueError, LookupError, RecursionError, MemoryError) as error:
        raise BadXml(
            f"not XML that can be read ({type(error).__name__})", file=where, cure="write it again with lstopo"
        ) from error
    element: Element = parsed
    return element


def _version(top: Element, where: str) -> int:
    text = top.get("version", "1.0")
    major = number(text.split(".")[0])
    if major is None or major < 1:
        raise BadXml(f"version {_word(text)!r} is not a hwloc version", file=where, cure="give an XML written by lstopo --of xml")
    if major == 1:
        raise BadXml(
            "it is in the format of hwloc 1.x", file=where, cure="convert it: lstopo -i OLD.xml --of xml NEW.xml (hwloc 2.x)"
        )
    if major > 3:
        raise BadXml(f"format {_word(text)} is newer than this program reads (2.x and 3.x)", file=where, cure="update advisor")
    return major


def _walk(root: Element, parents: dict[int, Element], where: str) -> Iterator[Element]:
    stack = [(root, 1)]
    seen = 0
    while stack:
        element, depth = stack.pop()
        seen += 1
        if seen > MOST_OBJECTS or depth > DEEPEST:
            raise BadXml("more objects or deeper nesting than any machine has", file=where, cure="refused as unsafe")
        yield element
        children = element.findall("object")
        for child in reversed(children):
            parents[id(child)] = element
            stack.append((child, depth + 1))


def _word(text: str) -> str:
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return clean if len(clean) <= 40 else clean[:37] + "..."
