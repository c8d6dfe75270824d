"""Modules that need an optional package."""

from __future__ import annotations

import importlib
from typing import Any

from qstep.errors import ToolMissingError

__all__ = ["load"]


def load(module: str, extra: str) -> Any:
    """Import a module, by name, that needs a package of an optional extra.

    Parameters
    ----------
    module : str
        A module of QStep that imports such a package, or the package itself.
    extra : str
        The extra of ``pyproject.toml``: ``torch``, ``profile``, ``bus``.

    Raises
    ------
    ToolMissingError
        The package is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as cause:
        if cause.name is None or cause.name.partition(".")[0] == "qstep":
            raise
        raise ToolMissingError(
            f"{cause.name} is not installed: pip install 'qstep[{extra}]'"
        ) from cause
