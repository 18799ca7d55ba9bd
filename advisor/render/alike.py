"""Repetition taken out of a picture: what is alike is drawn once, with the numbers of all."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from advisor.render.shapes import Block, Box, Group, Picture

BOXES = 4
"""So many NUMA nodes of a socket are drawn each for itself."""

BLOCKS = 4
"""So many sockets are drawn each for itself."""

_Shape = TypeVar("_Shape", Block, Box)


def collapsed(picture: Picture) -> Picture:
    """Return the picture with alike sockets, and alike nodes of a socket, drawn once where there are many."""
    blocks = picture.blocks
    if len(blocks) > BLOCKS:
        blocks = _merged(blocks, _alike_blocks, _one_block)
    return replace(picture, blocks=tuple(_fewer_boxes(block) for block in blocks))


def _fewer_boxes(block: Block) -> Block:
    if len(block.boxes) <= BOXES or block.repeat > 1:
        return block
    return replace(block, boxes=_merged(block.boxes, _alike_boxes, _one_box))


def _merged(
    shapes: Iterable[_Shape], alike: Callable[[_Shape, _Shape], bool], one: Callable[[list[_Shape]], _Shape]
) -> tuple[_Shape, ...]:
    kinds: list[list[_Shape]] = []
    for shape in shapes:
        same = next((kind for kind in kinds if alike(kind[0], shape)), None)
        if same is None:
            kinds.append([shape])
        else:
            same.append(shape)
    return tuple(one(kind) if len(kind) > 1 else kind[0] for kind in kinds)


def _alike_blocks(a: Block, b: Block) -> bool:
    bare = not (a.stores or b.stores or a.devices or b.devices)
    same = (len(a.sockets), a.dies, len(a.boxes)) == (len(b.sockets), b.dies, len(b.boxes))
    return bare and same and all(map(_alike_boxes, a.boxes, b.boxes))


def _alike_boxes(a: Box, b: Box) -> bool:
    if a.devices or b.devices or a.stores or b.stores or not (a.nodes and b.nodes):
        return False
    plain = (a.kind, a.cache, a.denied) == (b.kind, b.cache, b.denied)
    return plain and _near(a.sizes, b.sizes) and list(map(_shape, a.groups)) == list(map(_shape, b.groups))


def _near(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
    """Whether memory is the same but for what the kernel keeps of the first node."""
    first, second = a[0], b[0]
    if first is None or second is None:
        return first is second
    return bool(first) == bool(second) and abs(first - second) <= 0.1 * max(first, second)


def _shape(group: Group) -> object:
    return group.cache, group.size, group.reaches, [member.kind for member in group.members]


def _one_box(boxes: list[Box]) -> Box:
    groups = zip(*(box.groups for box in boxes), strict=True)
    return replace(
        boxes[0],
        nodes=tuple(number for box in boxes for number in box.nodes),
        sizes=tuple(size for box in boxes for size in box.sizes),
        groups=tuple(replace(same[0], members=tuple(member for group in same for member in group.members)) for same in groups),
    )


def _one_block(blocks: list[Block]) -> Block:
    boxes = zip(*(block.boxes for block in blocks), strict=True)
    return replace(
        blocks[0],
        sockets=tuple(socket for block in blocks for socket in block.sockets),
        ids=tuple(number for block in blocks for number in block.ids),
        boxes=tuple(_one_box(list(same)) for same in boxes),
        repeat=len(blocks),
    )
