"""The base of every value that flows between rooms."""

from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema


class Value(BaseModel):
    """A frozen record; None means not known, () means looked for and not there."""

    # Schemas are built when first used: start-up is felt, and one command uses few of the values.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null", allow_inf_nan=False, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Stop at the first wrong item of a list: a hostile one of a million would have millions of errors in memory."""
        schema = handler(source)
        _stop_at_first(schema)
        return schema


def _stop_at_first(schema: Any) -> None:
    """Mark every list of a record's schema, but not those inside of other records, which have marked their own."""
    todo, inside = [schema], False
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if part.get("type") == "model":
                if inside:
                    continue
                inside = True
            if part.get("type") in ("list", "tuple", "set", "frozenset"):
                part["fail_fast"] = True
            todo += part.values()
        elif isinstance(part, (list, tuple)):
            todo += part
