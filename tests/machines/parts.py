"""Adapters, NICs, GPUs, DIMMs and makers' names to build machines of."""

from dataclasses import replace

from tests.machines.spec import Device, Dimm, Dmi, Hca, Net

_MAC = "00:00:10:29:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:aa:bb:c0"
_CARDS = {
    "CX3": (0x1003, Hca("mlx4_0", "MT4099", "2.42.5000", "DEL0A50000019", "56 Gb/sec (4X FDR)")),
    "CX4": (0x1013, Hca("mlx5_0", "MT4115", "12.28.4512", "DEL2180110032", "100 Gb/sec (4X EDR)")),
    "CX5": (0x1017, Hca("mlx5_0", "MT4119", "16.35.4030", "MT_0000000008", "100 Gb/sec (4X EDR)")),
    "CX6": (0x101B, Hca("mlx5_0", "MT4123", "20.39.3560", "DEL0000000013", "100 Gb/sec (2X HDR)")),
    "CX7": (0x1021, Hca("mlx5_0", "MT4129", "28.39.1002", "MT_0000000838", "400 Gb/sec (4X NDR)")),
}


def hca(node: int, card: str, *, index: int = 0, says: int | None = None) -> Device:
    """Return a ConnectX adapter; the second one of a machine has index 1."""
    code, port = _CARDS[card]
    port = replace(port, name=f"{port.name[:-1]}{index}", guid=f"0c42:a103:00aa:bb{0xC0 + index:02x}")
    old = card == "CX3"
    net = Net(f"ib{index}", f"{_MAC[:-2]}{0xC0 + index:02x}", kind=32, mtu=2044, mbit=56000 if old else 100000)
    return Device(
        *(node, 0x020700, 0x15B3, code),
        driver="mlx4_core" if old else "mlx5_core",
        speed="16.0 GT/s PCIe" if card in ("CX6", "CX7") else "8.0 GT/s PCIe",
        width=8 if old else 16,
        subsystem=(0x15B3, 0x0008),
        hcas=(port,),
        nets=(net,),
        says=says,
    )


def port_down(device: Device) -> Device:
    """Return an adapter whose cable is out."""
    down = {"state": "1: DOWN", "physical": "3: Disabled", "rate": "10 Gb/sec (4X SDR)", "lid": "0xffff"}
    return replace(device, hcas=tuple(replace(port, **down) for port in device.hcas))


def nic(node: int, *names: str, maker: int = 0x14E4, device: int = 0x165F, driver: str = "tg3") -> Device:
    """Return an Ethernet adapter with one function for each name."""
    nets = tuple(Net(name, f"4c:d9:8f:00:00:{number:02x}") for number, name in enumerate(names))
    subsystem = (maker, 0)
    return Device(
        *(node, 0x020000, maker, device, driver, "5.0 GT/s PCIe", 2), subsystem=subsystem, functions=len(names), nets=nets
    )


def intel_nic(node: int, *names: str, device: int = 0x1521, driver: str = "igb") -> Device:
    """Return an Ethernet adapter of Intel's."""
    return nic(node, *names, maker=0x8086, device=device, driver=driver)


def vga(node: int) -> Device:
    """Return the management controller's graphics."""
    return Device(node, 0x030000, 0x102B, 0x0536, "mgag200", "", 0, subsystem=(0x102B, 0))


def gpu(node: int) -> Device:
    """Return an A100."""
    return Device(node, 0x030200, 0x10DE, 0x20B0, "nvidia", "16.0 GT/s PCIe", 16, subsystem=(0x10DE, 0x134F))


def dell(product: str, board: str, bios: str) -> Dmi:
    """Return the names of a Dell server."""
    return Dmi("Dell Inc.", product, board, bios)


def dimms(
    channels: int, gib: int, mts: int, *, sockets: int = 2, kind: int = 0x1A, empty: tuple[int, ...] = ()
) -> tuple[Dimm, ...]:
    """Return one DIMM a channel; the slots of the channels in ``empty`` have none, on every socket."""
    return tuple(
        Dimm(socket, f"{'ABCD'[socket]}{channel + 1}", 0 if channel in empty else gib * 1024, mts, kind)
        for socket in range(sockets)
        for channel in range(channels)
    )
