"""A publication that a rule or a sheet cites."""

from pydantic import ConfigDict, Field, RootModel

from advisor.model.value import Value


class Publication(Value):
    """Who said it, when, and where to read it."""

    title: str = Field(description="what it is called", min_length=3)
    by: str = Field(description="author or publisher", min_length=2)
    year: int | None = Field(default=None, ge=1990, le=2100, description="year of publication; None where it does not state one")
    where: str = Field(description="URL, or the document by the name under which it can be found", min_length=3)


class Publications(RootModel[dict[str, Publication]]):
    """All publications by the id under which they are cited."""

    model_config = ConfigDict(frozen=True)
