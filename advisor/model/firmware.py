"""Who made the machine and its firmware."""

from pydantic import Field

from advisor.model.value import Value


class Firmware(Value):
    """The system, board and BIOS names that SMBIOS gives."""

    system_vendor: str | None = Field(default=None, description="maker of the system: Dell Inc.")
    product: str | None = Field(default=None, description="product name: PowerEdge R7425")
    product_version: str | None = None
    board_vendor: str | None = None
    board: str | None = Field(default=None, description="board name: 02MJ3T")
    bios_vendor: str | None = None
    bios_version: str | None = Field(default=None, description="1.26.0")
    bios_date: str | None = Field(default=None, description="ISO date: 2024-01-01")
    smbios: str | None = Field(default=None, description="version of the SMBIOS table: 3.3; root alone can read it")
    cluster_mode: str | None = Field(default=None, description="Knights Landing only: Quadrant, SNC4, ... as its firmware told")
    memory_mode: str | None = Field(
        default=None, description="Knights Landing only: Cache, Flat, Hybrid50, ... as its firmware told"
    )
