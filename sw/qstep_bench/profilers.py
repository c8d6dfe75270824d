"""Runs any function under one of four profilers, and returns where time is spent.

| tool | records | overhead |
|---|---|---|
| cprofile | every call of a Python or built-in function | high for many small calls |
| line | every line of the QStep function that takes the most time | even higher, but only there |
| torch | every PyTorch operation, on the processor and on CUDA | low, but it stores every operation |
| pyinstrument | the stack, a thousand times per second | almost none |

All shares refer to time spent in a function or operation itself, excluding the functions that it calls.
Only the time of a line includes its calls.
"""

from __future__ import annotations

import cProfile
import inspect
import io
import linecache
import marshal
import pstats
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FunctionType
from typing import Any

from qstep._io import extras
from qstep.errors import QStepError

__all__ = ["TOOLS", "Profile", "Spot", "heaviest", "profile"]

_PACKAGES = {"qstep", "qstep_bench"}


def heaviest(profiler: cProfile.Profile) -> FunctionType:
    """Return the QStep function that takes the most time, excluding the QStep functions that it calls.

    A function is found by its qualified name in its module. A function without such a name, because it
    is nested in another function or compiled by Numba, counts as part of the line that calls it.

    Raises
    ------
    QStepError
        No function of QStep ran.
    """
    modules = {
        module.__file__: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _PACKAGES
    }

    def function(code: CodeType | str) -> FunctionType | None:
        if not isinstance(code, CodeType) or code.co_filename not in modules:
            return None
        try:
            found = attrgetter(code.co_qualname)(modules[code.co_filename])
        except AttributeError:
            return None
        plain = inspect.unwrap(found) if isinstance(found, FunctionType) else None
        return plain if plain is not None and plain.__code__ is code else None

    entries = {entry.code: entry for entry in profiler.getstats()}

    def inside(code: CodeType | str, through: frozenset[CodeType] = frozenset()) -> float:
        """Return the time of a function's calls to QStep, including calls through unnamed functions."""
        spent = 0.0
        for call in entries[code].calls or ():
            if function(call.code):
                spent += call.totaltime
            elif isinstance(call.code, CodeType) and call.code not in through:
                spent += min(call.totaltime, inside(call.code, through | {call.code}))
        return spent

    seconds = {
        found: entry.totaltime - inside(code)
        for code, entry in entries.items()
        if (found := function(code))
    }
    if not seconds:
        raise QStepError("no function of QStep ran in Python; use another tool, such as cprofile")
    return max(seconds, key=seconds.__getitem__)


Work = Callable[[], object]

_Place = tuple[str, int, str]
"""File, line and name of a function, as in cProfile."""


@dataclass(frozen=True)
class Spot:
    """A function, line or operation, and the time spent in it.

    Attributes
    ----------
    where : str
        Function with its line number, line of code, or operation.
    seconds : float
    share : float
        Share of the total time, 0..1.
    calls : int or None
        Number of calls; None if the tool does not count them.
    """

    where: str
    seconds: float
    share: float
    calls: int | None


@dataclass(frozen=True)
class Profile:
    """The findings of a profiler.

    Attributes
    ----------
    tool : str
    of : str
        Description of the total to which all shares refer.
    spots : tuple of Spot
        Spots, most expensive first.
    suffix : str
        Suffix of the profile's file: ``.html``, or a suffix for other programs.
    content : callable
        Function that returns the content of that file.
    """

    tool: str
    of: str
    spots: tuple[Spot, ...]
    suffix: str
    content: Callable[[], bytes]

    @property
    def sentence(self) -> str:
        """One sentence about the hot spot and its share."""
        hot = self.spots[0]
        return f"Hot spot: {hot.where} takes {hot.share:.0%} of {self.of}."


def profile(tool: str, work: Work) -> Profile:
    """Run work under a profiler.

    Parameters
    ----------
    tool : str
        One of :data:`TOOLS`.
    work : callable
        Function to profile; called once, or twice if `tool` is ``line``.

    Raises
    ------
    ToolMissingError
        The profiler is not installed; the message contains installation instructions.
    QStepError
        The profiler cannot analyse this work.
    """
    return TOOLS[tool](work)


def _cprofile(work: Work) -> Profile:
    rows: dict[_Place, Any] = pstats.Stats(_called(work)).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in rows.values())
    found = [
        Spot(_named(place), own, own / total, calls)
        for place, (_, calls, own, _, _) in rows.items()
    ]
    # This is the content that Stats.dump_stats would write.
    return Profile("cprofile", "the time", _sorted(found), ".prof", lambda: marshal.dumps(rows))


def _called(work: Work) -> cProfile.Profile:
    profiler = cProfile.Profile()
    profiler.runcall(work)
    return profiler


def _line(work: Work) -> Profile:
    profiler = extras.load("line_profiler", "profile").LineProfiler()
    profiler.add_function(heaviest(_called(work)))
    profiler.runcall(work)
    stats = profiler.get_stats()
    (((file, _, name), lines),) = stats.timings.items()
    total = sum(spent for _, _, spent in lines)
    if not total:
        raise QStepError(f"no line of {name} was seen; use another tool, such as cprofile")
    found = [
        Spot(
            f"{Path(file).name}:{line}: {linecache.getline(file, line).strip()}",
            spent * stats.unit,
            spent / total,
            hits,
        )
        for line, hits, spent in lines
    ]

    def text() -> bytes:
        out = io.StringIO()
        profiler.print_stats(stream=out)
        return out.getvalue().encode()

    return Profile("line", f"the time of {name}", _sorted(found), ".txt", text)


def _torch(work: Work) -> Profile:
    profiler = extras.load("torch.profiler", "torch")
    activities = [profiler.ProfilerActivity.CPU]
    if extras.load("torch", "torch").cuda.is_available():  # pragma: no cover: needs a GPU
        activities.append(profiler.ProfilerActivity.CUDA)
    with profiler.profile(activities=activities) as recorded:
        begun = time.perf_counter()
        work()
        total = time.perf_counter() - begun

    def trace() -> bytes:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            recorded.export_chrome_trace(str(file))
            return file.read_bytes()

    spots = _operations(recorded.key_averages(), total)
    return Profile("torch", "the time", spots, ".trace.json", trace)


def _operations(events: Iterable[Any], total: float) -> tuple[Spot, ...]:
    """Return a spot per operation and device, from PyTorch's events in a run of `total` seconds.

    The event of an operation on the processor also contains the time of its GPU kernels. That time is
    ignored, because the kernels are separate events.
    """
    events = list(events)
    if not any(event.key.startswith("aten::") for event in events):  # CUDA also records events
        raise QStepError("no operation of PyTorch ran; use another tool, such as cprofile")
    found = []
    inside = 0.0
    for event in events:
        if event.device_type.name == "CPU":
            seconds = event.self_cpu_time_total / 1e6
            inside += seconds
            found.append(Spot(event.key, seconds, seconds / total, event.count))
        elif event.device_type.name == "CUDA" and not event.is_user_annotation:
            seconds = event.self_device_time_total / 1e6
            where = f"{event.key} (on the GPU)"
            found.append(Spot(where, seconds, seconds / total, event.count))
    rest = max(0.0, total - inside)
    found.append(Spot("Python, between the operations", rest, rest / total, None))
    return _sorted(found)


def _pyinstrument(work: Work) -> Profile:
    profiler = extras.load("pyinstrument", "profile").Profiler()
    with profiler:
        work()
    root = profiler.last_session.root_frame()
    if root is None:
        raise QStepError("the work ended before the first sample; give it more --seconds")
    own: dict[str, float] = defaultdict(float)
    frames = [root]
    while frames:
        frame = frames.pop()
        frames += frame.children
        if not frame.is_synthetic:
            place = (frame.file_path or "", frame.line_no or 0, frame.function)
            own[_named(place)] += frame.total_self_time
    total = sum(own.values())
    found = [Spot(where, seconds, seconds / total, None) for where, seconds in own.items()]
    return Profile(
        "pyinstrument",
        "the time",
        _sorted(found),
        ".html",
        lambda: profiler.output_html().encode(),
    )


def _sorted(spots: list[Spot]) -> tuple[Spot, ...]:
    return tuple(sorted(spots, key=lambda spot: spot.seconds, reverse=True))


def _named(place: _Place) -> str:
    """Return a readable name and location of a function."""
    file, line, name = place
    if file in ("", "~", "<built-in>"):  # the profilers' marks for code that is not Python
        return name.removeprefix("<").removesuffix(">").removeprefix("built-in method ")
    return f"{name} ({'/'.join(Path(file).parts[-2:])}:{line})"


TOOLS: dict[str, Callable[[Work], Profile]] = {
    "cprofile": _cprofile,
    "line": _line,
    "torch": _torch,
    "pyinstrument": _pyinstrument,
}
"""The functions that profile work, by the name of the tool."""
