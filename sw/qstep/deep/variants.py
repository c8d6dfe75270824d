"""The variants of the Q-loss, by name: see `q_loss_plain`."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["VARIANTS", "Variant"]

Variant: TypeAlias = Literal["single", "target", "double"]

VARIANTS: tuple[Variant, ...] = get_args(Variant)
