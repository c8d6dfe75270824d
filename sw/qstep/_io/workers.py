"""Work on many items at a time: here, in threads, or in processes of this machine; and other programs.

A function and its items go to *workers*, and results come back in any order. If a worker dies, its work
is repeated, and finished results are kept.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from qstep.errors import QStepError, SchedulerError

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

__all__ = ["Here", "Processes", "Threads", "Workers", "completed", "in_parallel", "run", "threads"]

_LAST_WORDS = 3000

_running: set[subprocess.Popen[str]] = set()


def run(
    command: Sequence[str | Path],
    error: type[QStepError],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program to its end and return what it printed.

    Parameters
    ----------
    command : sequence of str or Path
        The program and its arguments.
    error : type of QStepError
        Raised, with the end of the output, if the status is not 0.
    folder : Path, optional
        Working folder; by default that of this process.
    environment : mapping, optional
        Environment variables; by default those of this process.
    """
    # In a process group of its own: compilers start programs too, which must end with them.
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0 if os.name == "posix" else None,
    ) as process:
        _running.add(process)
        try:
            said, _ = process.communicate()
        except BaseException:
            _end(process)
            raise
        finally:
            _running.discard(process)
    if process.returncode != 0:
        last = said.strip()[-_LAST_WORDS:]
        raise error(f"{Path(command[0]).name} failed with status {process.returncode}:\n{last}")
    return said


@contextmanager
def threads(count: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Yield threads for :func:`run`; an error stops new work, and Ctrl-C ends running programs too."""
    with ThreadPoolExecutor(count) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):
                for process in tuple(_running):
                    _end(process)
            raise


def _end(process: subprocess.Popen[str]) -> None:
    """End a program and the programs that it started."""
    if os.name != "posix":  # pragma: no cover: no process groups there
        process.kill()
        return
    with suppress(ProcessLookupError):  # it ended just now
        os.killpg(process.pid, signal.SIGKILL)


Item = TypeVar("Item")
Result = TypeVar("Result")

DEATHS = 3
"""How often workers may die during one call before an item is blamed."""


class Workers(Protocol):
    """A pool of workers.

    Attributes
    ----------
    jobs : int
        Approximate number of pieces of work in progress at a time; there should be more pieces.
    """

    @property
    def jobs(self) -> int: ...

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield numbers and results of items as they arrive, without those lost with a worker."""


@dataclass(frozen=True, slots=True)
class Here:
    """One item after the other in this thread, for a device that exists once."""

    jobs: int = 1

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield results in the order of the items."""
        for number, item in items.items():
            yield number, function(item)


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process, for functions that wait for other programs."""

    jobs: int

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield results as they arrive; on Ctrl-C the programs end too."""
        with threads(self.jobs) as pool:
            yield from _completed(pool, function, items)


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes of this machine, for functions that compute.

    They import the main module, so a script must start them below ``if __name__ == "__main__"``.
    """

    jobs: int

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield results as they arrive; `function` must be a module's, and items must be picklable."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            os._exit(1)  # a worker that imports such a script: the process that started it says so
        with _pool(min(self.jobs, len(items)), function.__module__) as (pool, started):
            yield from _completed(pool, function, items)
        if not started.is_set():
            raise SchedulerError(
                "no worker process could start: each imports the main module, so a script must call "
                'this below if __name__ == "__main__":'
            )


def completed(
    function: Callable[[Item], Result], items: Sequence[Item], workers: Workers
) -> Generator[tuple[int, Result], None, None]:
    """Call `function` on all items; yield their numbers and results as they arrive.

    Raises
    ------
    SchedulerError
        Workers died more than three times.
    """
    left, deaths = dict(enumerate(items)), 0
    while left:
        with closing(workers.each(function, left.copy())) as results:
            for number, result in results:
                del left[number]
                yield number, result
        deaths += bool(left)
        if deaths > DEATHS:
            raise SchedulerError(
                f"workers died {deaths} times, with {len(left)} of {len(items)} pieces of work "
                "left; one of these kills them, or the machine lacks memory"
            )


def in_parallel(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: Workers,
    progress: Callable[[Result], object],
    known: Callable[[Item], Result | None] = lambda item: None,
) -> list[Result]:
    """Call `function` on all items and return the results in their order.

    Parameters
    ----------
    function : callable
    items : sequence
    workers : Workers
    progress : callable
        Called with each result as it arrives. After an error nothing new is started.
    known : callable, optional
        Returns the result of an item that needs no work, otherwise None.

    Raises
    ------
    SchedulerError
        As :func:`completed`.
    """
    done = {n: found for n, item in enumerate(items) if (found := known(item)) is not None}
    for found in done.values():
        progress(found)
    left = [number for number in range(len(items)) if number not in done]
    for place, result in completed(function, [items[number] for number in left], workers):
        done[left[place]] = result
        progress(result)
    return [done[number] for number in range(len(items))]


def _completed(
    pool: Executor, function: Callable[[Item], Result], items: Mapping[int, Item]
) -> Generator[tuple[int, Result], None, None]:
    under_way: dict[Future[Result], int] = {}
    try:
        for number, item in items.items():
            under_way[pool.submit(function, item)] = number
    except BrokenExecutor:  # a worker has died already
        pass
    for future in as_completed(under_way):
        try:
            result = future.result()
        except BrokenExecutor:
            continue
        yield under_way[future], result


@contextmanager
def _pool(jobs: int, module: str) -> Iterator[tuple[ProcessPoolExecutor, Event]]:
    """Yield processes, and an event that is set once one runs; after an error they end at once."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("forkserver")  # a forked process may inherit held locks
    context.set_forkserver_preload([module])  # imported once, not by each
    started = context.Event()
    pool = ProcessPoolExecutor(jobs, context, _begin, (started,))
    try:
        yield pool, started
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - before:
            worker.kill()
        raise
    pool.shutdown()


def _begin(started: Event) -> None:  # pragma: no cover: runs in processes that end without counts
    """Leave Ctrl-C to the parent process, and end whenever it ends."""
    started.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:  # pragma: no cover: runs in processes that end without counts
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
