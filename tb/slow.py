"""Parameters of which only some run in ``make test``."""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["slow_except"]


def slow_except(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return test parameters for `values`; those not in `quick` are marked slow."""
    often = list(quick)
    return [
        each if each in often else pytest.param(each, marks=pytest.mark.slow) for each in values
    ]
