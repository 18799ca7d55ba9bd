"""The publications that rules and sheets cite, as ``rules/sources.yaml`` lists them."""

from functools import cache

from advisor.model.publication import Publication, Publications
from advisor.paths import rules
from advisor.sheets import load_sheet


@cache
def publications() -> dict[str, Publication]:
    """Return every publication by the id under which it is cited."""
    return load_sheet(rules() / "sources.yaml", Publications).root
