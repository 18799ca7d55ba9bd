"""Sets of nodes as sites write them: n[001-400]. ClusterShell's, without anybody's groups."""

from collections.abc import Iterable

from advisor.errors import BadValue


def folded(names: Iterable[str]) -> str:
    """Return names as one text.

    >>> folded(["n001", "n002", "n003", "n007", "head"])
    'head,n[001-003,007]'
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(NodeSet.fromlist(sorted(names), resolver=RESOLVER_NOGROUP))


def first_of(text: str) -> str:
    """Return the first name of a folded text.

    >>> first_of("r2n[19-40],r10n[1-3]"), first_of(folded(["b1", "a2", "a1"]))
    ('r2n19', 'a1')
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(next(iter(NodeSet(text, resolver=RESOLVER_NOGROUP))))


def expanded(text: str) -> tuple[str, ...]:
    """Return the names of a folded text, in order.

    >>> expanded("n[1-3],head")
    ('head', 'n1', 'n2', 'n3')
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    try:
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, ValueError) as error:
        raise BadValue(f"{text[:60]!r} is no set of nodes", cure="write n[001-400], or n1,n2") from error
