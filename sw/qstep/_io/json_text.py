"""JSON text as RFC 8259 defines it: without NaN and infinity."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["json_text"]


def json_text(value: Any, indent: int | None = 2) -> str:
    """Return plain values as JSON text; a float that is NaN or infinite becomes ``null``.

    Examples
    --------
    >>> json_text({"mean": float("nan"), "low": -1.5}, indent=None)
    '{"mean": null, "low": -1.5}'
    """
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
