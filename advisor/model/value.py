"""The base of every value that flows between rooms."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen record; None means not known, () means looked for and not there."""

    # Schemas are built when first used: start-up is felt, and one command uses few of the values.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null", allow_inf_nan=False, defer_build=True)
