"""A digest of hardware, software and tests: what a command found holds until it changes."""

from __future__ import annotations

import hashlib

from tb.bench import TB

from qstep_rtl.sources import substance

__all__ = ["source_digest"]

_FOLDERS = ("rtl", "sw", "sim", "fpga/qstep_fpga", "tb")
_SUFFIXES = (".py", ".sv", ".svh", ".v", ".rdl", ".toml", ".cpp", ".h", ".c")


def source_digest() -> str:
    """Return a digest of all sources but ``tb/verify``, which only tells what commands have found."""
    root, digest = TB.parent, hashlib.sha256()
    for path in sorted(p for folder in _FOLDERS for p in (root / folder).rglob("*")):
        if path.suffix in _SUFFIXES and path.parent != TB / "verify":
            digest.update(f"{path.relative_to(root)}\0{substance(path)}\0".encode())
    return digest.hexdigest()[:16]
