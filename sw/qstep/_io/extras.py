"""Imports of modules that need an optional package."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from qstep.errors import ToolMissingError

__all__ = ["load", "remedy"]


def load(module: str, extra: str) -> Any:
    """Import a module that needs a package from an optional extra.

    Parameters
    ----------
    module : str
        Name of a QStep module that imports such a package, or of the package itself.
    extra : str
        Name of the extra in ``pyproject.toml``, such as ``torch``, ``profile`` or ``bus``.

    Raises
    ------
    ToolMissingError
        The package is not installed; the message contains the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as cause:
        if cause.name is None or cause.name.partition(".")[0] in {"qstep", "qstep_bench"}:
            raise
        raise ToolMissingError(f"{cause.name} is not installed; {remedy(extra)}") from cause


def remedy(extra: str | None) -> str:
    """Return the instruction to install QStep into this environment, with `extra` if given.

    QStep is not on PyPI, so the command uses the checkout or wheel from which pip installed it. If that
    source no longer exists or is unknown, the command must be run in a checkout.
    """
    source, editable = _source()
    where, target = ("", str(source)) if source else (" in a checkout of QStep", ".")
    option = ["-e"] if editable else []
    target += f"[{extra}]" if extra else ""
    command = shlex.join([sys.executable, "-m", "pip", "install", *option, target])
    return f"run{where}: {command}"


def _source() -> tuple[Path | None, bool]:
    """Return the folder or wheel that QStep was installed from, and whether the install is editable."""
    try:
        found = json.loads(metadata.distribution("qstep").read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:
        return None, False
    url = urlsplit(found.get("url", ""))
    path = Path(url2pathname(url.path))
    if url.scheme != "file" or not path.exists():
        return None, False
    return path, found.get("dir_info", {}).get("editable", False)
