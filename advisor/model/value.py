"""The base of every value that flows between rooms."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen record; None means not known, () means looked for and not there."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null", use_attribute_docstrings=False)
