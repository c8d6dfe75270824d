"""Link layouts (:mod:`qstep.spec.protocol`) as signal shapes."""

from __future__ import annotations

from amaranth.lib import data

from qstep.spec.protocol import Layout

__all__ = ["struct_of"]


def struct_of(layout: Layout) -> data.StructLayout:
    """Return a structure with the fields of `layout`, in link order."""
    return data.StructLayout({name: 8 * size for name, size in layout.sizes.items()})
