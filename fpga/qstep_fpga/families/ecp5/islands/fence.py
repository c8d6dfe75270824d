"""A fence around a site: the wires outside are blocked, so that no route of a lane leaves it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from qstep_fpga.families.ecp5.islands.grid import Tile
from qstep_fpga.families.ecp5.islands.routes import FIRM
from qstep_fpga.families.ecp5.islands.sites import Site, near

__all__ = ["FENCE", "fence"]

FENCE = "$fence$"
"""Name of the net that has the wires."""

# Wires are named after the tile of their middle. The longest span six tiles: from a wire of the site a
# switch is at most three tiles away, and the middle of the wire that it leads to three more.
_REACH = 6

# Horizontal or vertical, the tiles that it spans, where it leads to, its number, and the place in it of
# the tile that gives the name.
_WIRES = tuple(
    f"{way}{span:02}{toward}{number:02}{middle:02}"
    for way, toward in ("HE", "HW", "VN", "VS")
    for span, count, middle in ((1, 2, int(toward in "EN")), (2, 8, 1), (6, 4, 3))
    for number in range(count)
)


def fence(site: Site, chip: Set[Tile], bit: int) -> dict[str, Any]:
    """Return a net that occupies all wires between tiles around a site.

    The router takes no wire from a net that has it firmly, and takes a global net for routed.

    Parameters
    ----------
    site : Site
    chip : set of tuple
        The tiles of its logic.
    bit : int
        The net's number; it needs a driver.
    """
    around = near(list(site), _REACH) & near(chip, 1)
    wires = [
        f"X{column}/Y{row}/{wire};;{FIRM}"
        for column, row in sorted(around.difference(site))
        for wire in _WIRES
    ]
    attributes = {"ECP5_IS_GLOBAL": "1", "ROUTING": ";".join(wires)}
    return {"hide_name": 0, "bits": [bit], "attributes": attributes}
