"""The sources of the hardware: SystemVerilog in compile order, and the Verilog generator's files."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import qstep.errors
import qstep.spec.agents
import qstep.spec.checks
import qstep.spec.config
import qstep.spec.fixed
import qstep.spec.integer_worlds
import qstep.spec.memory_map
import qstep.spec.protocol
import qstep.spec.random
import qstep.spec.tiles
from qstep.errors import ConfigError
from qstep.spec.config import Config

__all__ = [
    "RTL",
    "circuit",
    "fileset",
    "folders",
    "generator",
    "hierarchy",
    "includes",
    "rtl_files",
    "source",
    "substance",
]

_HERE = Path(__file__).resolve().parent
RTL = installed if (installed := _HERE / "verilog").is_dir() else _HERE.parent
"""The source folder, ``rtl`` in a checkout, with one folder per hardware unit."""

_FILESET = re.compile(
    r"^  (\w+):\n    file_type: \w+\n    files:\n((?:      - .*\n)+)", re.MULTILINE
)
_FILE = re.compile(r"^      - ([\w/]+\.sv)$", re.MULTILINE)

_DEFINITION = re.compile(r"\b(?:module|package|interface) (\w+)")
_WORD = re.compile(r"\w+")


def fileset(*names: str) -> list[Path]:
    """Return the SystemVerilog files of the named filesets in ``rtl/qstep.core``, in compile order.

    That file is the only list of sources.
    """
    sets = dict(_FILESET.findall((RTL / "qstep.core").read_text(encoding="utf-8")))
    return [RTL / file for name in names for file in _FILE.findall(sets[name])]


def source(name: str, folder: Path | None = None) -> Path:
    """Return the file called `name` in any folder below `folder`: :data:`RTL` or a copy of it."""
    folder = folder or RTL
    return next(folder.rglob(name), folder / name)


def folders(rtl: Path) -> list[Path]:
    """Return the folders of :data:`RTL`, or of a copy, in which tools find modules by name."""
    return sorted({path.parent for path in rtl.rglob("*.sv*")})


def rtl_files(config: Config | None = None) -> list[Path]:
    """Return the hand-written SystemVerilog files in compile order: packages before users, the top last.

    Also available as ``qstep.rtl_files``. The files belong to the installed package, so do not change
    them there. The first file's folder also contains the files of :func:`includes`: it is the include
    folder.

    Parameters
    ----------
    config : Config, optional
        The configuration to build; without a configuration, only the lane ``qs_lane``. The agents'
        files, with ``qs_acting`` at the top, are included only if `config` has agents, and a farm's
        files only if it has several lanes, so other builds do not depend on them. A world that is a
        Verilog circuit comes last.

    Returns
    -------
    list of Path
        Absolute paths of existing files.

    Raises
    ------
    ConfigError
        The world's file does not exist.

    Examples
    --------
    >>> import qstep
    >>> files = qstep.rtl_files()
    >>> files[0].name, files[-1].name
    ('qs_pkg.sv', 'qs_lane.sv')
    """
    if config is None or config.acting is None:
        return fileset("common", "lane")
    farm = ("farm",) if config.lanes > 1 else ()
    circuits = (path for path in circuit(config) if path.suffix != ".py")
    return [*fileset("common", "lane", "agents", "worlds", *farm), *circuits]


def circuit(config: Config) -> list[Path]:
    """Return the world's file if the world is a circuit, otherwise an empty list.

    A relative name is looked up in the current folder, then in the hardware's source folder, which has
    examples in ``worlds``.

    Raises
    ------
    ConfigError
        The file does not exist.
    """
    acting = config.acting
    if acting is None or not acting.is_circuit:
        return []
    for path in (Path(acting.world), RTL / acting.world):
        if path.is_file():
            return [path.resolve()]
    raise ConfigError(
        f"acting.world is {acting.world!r}; there is no such file in {Path.cwd()} or {RTL}"
    )


def includes() -> list[Path]:
    """Return the files that the sources include."""
    return [RTL / "common/qs_assert.svh"]


def generator() -> list[Path]:
    """Return the Python files that turn a configuration into Verilog: this package and dependencies."""
    description = (
        qstep.spec.agents,
        qstep.spec.checks,
        qstep.spec.config,
        qstep.errors,
        qstep.spec.fixed,
        qstep.spec.integer_worlds,
        qstep.spec.memory_map,
        qstep.spec.random,
        qstep.spec.protocol,
        qstep.spec.tiles,
    )
    package = sorted(Path(__file__).parent.glob("*.py"))
    return [*package, *(Path(module.__file__ or "") for module in description)]


def substance(path: Path) -> str:
    """Return the text of a source, Python or Verilog, without the parts that do not affect the hardware.

    Comments, docstrings and line breaks may change without changing the build's identity.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL).split())
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                part
                for part in body
                if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
    return ast.unparse(tree)  # the same in all versions of Python, unlike the names of the nodes


def hierarchy(top: str, files: Sequence[Path]) -> dict[Path, str]:
    """Return the substance of the Verilog files that the hierarchy below the module `top` needs.

    A file is needed if a needed file names one of its modules or packages, or includes it. An instance
    counts even if the parameters disable it.
    """
    texts = {path: substance(path) for path in files}
    defining = {
        name: path
        for path, text in texts.items()
        for name in _DEFINITION.findall(text)
        or [path.stem]  # an include file is identified by its file name
    }
    needed: set[Path] = set()
    named = {top}
    while more := {defining[name] for name in named} - needed:
        needed |= more
        named = {word for path in more for word in _WORD.findall(texts[path])} & defining.keys()
    return {path: text for path, text in texts.items() if path in needed}
