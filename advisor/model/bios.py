"""What the management controller says of the BIOS: attributes in the vendor's own words."""

from pydantic import Field

from advisor.model.value import Value

Scalar = bool | int | str
"""A vendor's value; "1" and 1 differ, and a controller refuses the wrong one."""


class Bios(Value):
    """The BIOS as it is set, and as it will be after the next start."""

    attributes: dict[str, Scalar | None] = Field(description="attribute -> value; serial numbers, addresses and secrets left out")
    pending: dict[str, Scalar | None] | None = Field(
        default=None, description="what waits for the next start; None where it was not read, {} where nothing waits"
    )
    also: dict[str, str] = Field(
        default={}, description="attribute -> its value's other name, where a registry told both that and the menu's words"
    )
    registry: str | None = Field(
        default=None, description="attribute registry that explains the names: BiosAttributeRegistryA42.v1_2_60"
    )

    def changed(self) -> dict[str, Scalar | None]:
        """Return the pending values that differ from the present ones: HPE and Lenovo list all of them as pending."""
        return {name: value for name, value in (self.pending or {}).items() if self.attributes.get(name) != value}
