"""Blanks serial numbers in binary tables without changing their length or structure."""

FILL = b"X"

# Where a structure names its serial number and asset tag, as string numbers (SMBIOS 3.7, DSP0134):
# system, board, chassis, processor, memory device, battery, power supply.
_STRINGS = {1: (0x07,), 2: (0x07, 0x08), 3: (0x07, 0x08), 4: (0x20, 0x21), 17: (0x18, 0x19), 22: (0x07,), 39: (0x08, 0x09)}
_SYSTEM, _UUID = 1, slice(0x08, 0x18)
_END_OF_TABLE = 127
_EXTENDED, _SERIAL_NUMBER = 0x100, 0x0003
"""PCI Express 7.9.3: extended capabilities begin at 0x100; number 3 is the device serial number, eight bytes after its header."""


def smbios(table: bytes) -> bytes:
    """Return a table of SMBIOS structures with each serial number, asset tag and UUID overwritten, wherever it stands."""
    data, secrets, position = bytearray(table), set[bytes](), 0
    while position + 4 <= len(data):
        kind, length = data[position], data[position + 1]
        if length < 4 or position + length > len(data):
            break
        strings, end = _strings(data, position + length)
        for offset in _STRINGS.get(kind, ()):
            number = data[position + offset] if offset < length else 0
            if 0 < number <= len(strings):
                secrets.add(_blank(data, strings[number - 1]))
        if kind == _SYSTEM and length >= _UUID.stop:
            uuid = slice(position + _UUID.start, position + _UUID.stop)
            data[uuid] = FILL * (uuid.stop - uuid.start)
        if kind == _END_OF_TABLE:
            break
        position = end
    return _everywhere(bytes(data), secrets)


def _strings(data: bytearray, start: int) -> tuple[list[slice], int]:
    """Return where the strings of a structure lie, and where the next structure begins."""
    strings = []
    while start < len(data) and data[start]:
        end = data.find(0, start)
        end = len(data) if end < 0 else end
        strings.append(slice(start, end))
        start = end + 1
    return strings, start + (1 if strings else 2)


def _blank(data: bytearray, place: slice) -> bytes:
    """Overwrite a string and return what it was."""
    secret = bytes(data[place])
    data[place] = FILL * len(secret)
    return secret


def _everywhere(data: bytes, secrets: set[bytes]) -> bytes:
    """Return the data without the secrets that makers repeat in structures of their own; short ones could be anything."""
    for secret in sorted(secrets, key=len, reverse=True):
        word = secret.strip()
        if len(word) >= 5 and len(set(word)) > 2 and any(48 <= byte <= 57 for byte in word):
            data = data.replace(word, FILL * len(word))
    return data


def pci_config(config: bytes) -> bytes:
    """Return a PCI configuration space with the device serial number, made from a MAC address, zeroed."""
    data, position, seen = bytearray(config), _EXTENDED, set[int]()
    while _EXTENDED <= position <= len(data) - 4 and position not in seen:
        seen.add(position)
        header = int.from_bytes(data[position : position + 4], "little")
        if header & 0xFFFF == _SERIAL_NUMBER:
            place = slice(position + 4, min(position + 12, len(data)))
            data[place] = bytes(place.stop - place.start)
        position = header >> 20 & 0xFFC
    return bytes(data)
