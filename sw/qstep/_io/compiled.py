"""Compilation with Numba, using an on-disk cache that is never stale.

Numba caches machine code next to a function's module and reuses it while that file is unchanged,
even though constants and functions from other modules are also compiled in. Here, cached code also
depends on the source of every module of these packages that the module imports at load time, directly
or indirectly. If any of these files changes, the function is recompiled.

Numba picks the name of a new machine-code file, adds it to the function's index, and only then writes
the file. Processes that compile the same function concurrently for different types could load each
other's code, so a lock is held during these steps.

Symbols in machine code contain IDs of functions and record types, and Numba counts these from the same
number in each process. A process that loads code from two other processes could mistake equal symbols
for the same function, so function IDs start at a random number here.

If Numba can write neither next to the modules nor in the user's home folder, its files are stored in
QStep's cache folder. If that is not writable either, nothing is cached, and every process recompiles.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, overload

from filelock import FileLock
from numba import njit
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.extending import is_jitted

__all__ = ["cache_of_compiled", "compiled", "inner"]

_PLACE = Path(__file__).parents[2]
"""Folder of the packages that compiled code may depend on."""

_PACKAGES = ("qstep", "qstep_bench")

assert isinstance(FunctionIdentity._unique_ids, itertools.count)  # a later Numba may rename it
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))


@overload
def compiled(function: Callable[..., Any], /) -> Any: ...
@overload
def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]: ...
def compiled(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function of these packages in Numba's nopython mode, releasing the GIL.

    Use it as ``@compiled``, or with options of :func:`numba.njit` as ``@compiled(fastmath=True)``. With
    ``noalias=True``, no two array arguments may share memory, as with C's ``restrict``, so loops over
    them can be vectorised. `sources` are the files of other compiled-in functions whose modules are
    imported only by a name in a string.
    """
    if function is None:
        return partial(compiled, **options)
    noalias, sources = options.pop("noalias", False), options.pop("sources", ())
    is_inner = options.pop("is_inner", False)
    # Nothing here uses the entry point for C callbacks; without it, compiling takes a sixth less time.
    made = njit(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=is_inner, **options)(function)
    # These attributes are private to Numba; if a later version renames one, this fails at once.
    if is_jitted(made) and noalias:  # is_jitted is false with NUMBA_DISABLE_JIT
        made._compiler._customize_flags = partial(_no_alias, made._compiler._customize_flags)
    if is_jitted(made) and not is_inner and _enable_caching(made):
        index = made._cache._cache_file
        lock = f"{index._index_path}.lock"
        made._cache.load_overload = partial(_load, made._cache.load_overload, lock, index)
        made._cache.save_overload = partial(_save, made._cache.save_overload, lock)
        index._source_stamp = (
            index._source_stamp,
            _text_behind(Path(function.__code__.co_filename), *sources),
        )
    return made


inner = partial(compiled, is_inner=True)
"""Compile a function that only compiled functions call, which takes less time.

Python cannot call it, and its machine code is cached only as a part of its callers'.
"""


def _no_alias(customize: Callable[[Any], Any], flags: Any) -> Any:
    flags = customize(flags)
    assert flags.noalias is False
    flags.noalias = True
    return flags


def cache_of_compiled() -> Path | None:
    """Return the folder of cached machine code; None if nothing is cached."""
    made = compiled(lambda: None)
    if not is_jitted(made) or made._cache.cache_path is None:
        return None
    return Path(made._cache.cache_path)


def _enable_caching(made: Any) -> bool:
    """Cache a function in Numba's folder, or else in QStep's; return whether it is cached."""
    try:
        made.enable_caching()
    except RuntimeError:  # Numba finds no folder
        # Not imported at load time, because compiled code does not depend on these modules.
        from qstep._io.cache import prepare
        from qstep.errors import QStepError

        chosen = config.CACHE_DIR
        try:
            config.CACHE_DIR = str(prepare() / "numba")
            made.enable_caching()
        except (RuntimeError, QStepError):
            return False
        finally:
            config.CACHE_DIR = chosen
    return True


@contextmanager
def _locked(lock: str) -> Iterator[None]:
    """Acquire a lock, unless its folder is read-only, in which case the content cannot change."""
    with ExitStack() as held:
        with suppress(OSError):
            held.enter_context(FileLock(lock))  # a new object: forked processes cannot share one
        yield


def _load(load: Callable[..., Any], lock: str, index: Any, *what: Any) -> Any:
    """Load machine code; clear the index if it refers to types of modules that no longer exist."""
    try:
        with _locked(lock):
            return load(*what)
    except (ImportError, AttributeError):
        index.flush()
        return None


def _save(save: Callable[..., None], lock: str, *what: Any) -> None:
    """Save machine code; ignore write errors, such as a full disk."""
    with _locked(lock), suppress(OSError):
        save(*what)


def _text_behind(*paths: Path) -> str:
    """Return the SHA-256 of the names and contents of files and of all modules that they depend on."""
    found, left = set(paths), list(paths)
    while left:
        new = _imported(left.pop()) - found
        found |= new
        left += new
    total = hashlib.sha256()
    for path in sorted(found):
        total.update(f"{path.name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return total.hexdigest()


@cache
def _imported(path: Path) -> frozenset[Path]:
    """Return the files of the modules of these packages that a file imports at load time."""
    names: set[str] = set()
    for node in _run_on_loading(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports must be absolute"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
            names.add(str(node.module))
    found: set[Path] = set()
    for name in names:
        package, *parts = name.split(".")
        if package in _PACKAGES:
            place = _PLACE.joinpath(package, *parts)
            files = (place.with_suffix(".py"), place / "__init__.py")
            found.update(file for file in files if file.is_file())
    return frozenset(found)


def _run_on_loading(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except those inside functions."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for child in ast.iter_child_nodes(node):
            yield from _run_on_loading(child)
