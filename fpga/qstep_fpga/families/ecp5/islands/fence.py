"""Fences a site: blocks the wires around it, so that no route of a lane leaves it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from qstep_fpga.families.ecp5.islands.grid import Tile
from qstep_fpga.families.ecp5.islands.routes import FIRM
from qstep_fpga.families.ecp5.islands.sites import Site, near

__all__ = ["FENCE", "fence"]

FENCE = "$fence$"
"""Name of the net that occupies the wires."""

# Wires are named after the tile at their middle. The longest wires span six tiles, so a switch is at
# most three tiles from the middle of a site's wire, and at most three from the middle of its target.
_REACH = 6

# A name consists of the orientation, the number of tiles spanned, the direction, the wire's number, and
# the position within the wire of the tile that it is named after.
_WIRES = tuple(
    f"{way}{span:02}{toward}{number:02}{middle:02}"
    for way, toward in ("HE", "HW", "VN", "VS")
    for span, count, middle in ((1, 2, int(toward in "EN")), (2, 8, 1), (6, 4, 3))
    for number in range(count)
)


def fence(site: Site, chip: Set[Tile], bit: int) -> dict[str, Any]:
    """Return a net that occupies all wires between tiles around a site.

    The router does not rip up wires of this strength, and treats a global net as routed.

    Parameters
    ----------
    site : Site
    chip : set of tuple
        The tiles with the chip's logic.
    bit : int
        Number of the net, which also needs a driver.
    """
    around = near(list(site), _REACH) & near(chip, 1)
    wires = [
        f"X{column}/Y{row}/{wire};;{FIRM}"
        for column, row in sorted(around.difference(site))
        for wire in _WIRES
    ]
    attributes = {"ECP5_IS_GLOBAL": "1", "ROUTING": ";".join(wires)}
    return {"hide_name": 0, "bits": [bit], "attributes": attributes}
