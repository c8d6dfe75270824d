"""Parallel work in threads, in processes or on other machines, and calls to external programs.

All classes except :class:`Here` use executors of `concurrent.futures` and return results in any order.
If a worker dies, its work is repeated; finished results are kept.
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
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from qstep._io import extras
from qstep.errors import QStepError, SchedulerError, ToolMissingError

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

__all__ = [
    "Cluster",
    "Here",
    "Processes",
    "Threads",
    "Workers",
    "completed",
    "in_parallel",
    "run",
    "threads",
]

_LAST_WORDS = 3000

_running: set[subprocess.Popen[str]] = set()


def run(
    command: Sequence[str | Path],
    error: type[QStepError],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program and return its output; on failure, raise `error` with the end of the output."""
    # In a separate process group: compilers start other programs, which must be killed with them.
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
            output, _ = process.communicate()
        except BaseException:
            _end(process)
            raise
        finally:
            _running.discard(process)
    if process.returncode != 0:
        last = output.strip()[-_LAST_WORDS:]
        raise error(f"{Path(command[0]).name} failed with status {process.returncode}:\n{last}")
    return output


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a program and all programs that it started."""
    if os.name != "posix":  # pragma: no cover: no process groups there
        process.kill()
        return
    with suppress(ProcessLookupError):  # it has just ended
        os.killpg(process.pid, signal.SIGKILL)


Item = TypeVar("Item")
Result = TypeVar("Result")

DEATHS = 3
"""Number of times that workers may die during one call before it fails."""


@dataclass(frozen=True)
class Workers:
    """A pool of workers.

    Parameters
    ----------
    jobs : int
        Approximate number of items in progress at a time; a call should have more items than this.
    """

    jobs: int

    def _executor(self, module: str, items: int) -> AbstractContextManager[Executor]:
        """Start an executor for `items` calls to a function in `module`; an error shuts it down."""
        raise NotImplementedError

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield each item's number and result as it arrives; skip the items of workers that died."""
        with self._executor(function.__module__, len(items)) as executor:
            pending: dict[Future[Result], int] = {}
            with suppress(BrokenExecutor):  # a worker has already died
                for number, item in items.items():
                    pending[executor.submit(function, item)] = number
            for future in as_completed(pending):
                if not isinstance(future.exception(), BrokenExecutor):
                    yield pending[future], future.result()


@dataclass(frozen=True)
class Here(Workers):
    """Processes one item at a time in this thread, for work that uses a single device."""

    jobs: int = 1

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield results in the order of the items."""
        for number, item in items.items():
            yield number, function(item)


@contextmanager
def threads(count: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Yield threads for :func:`run`; an error cancels pending work, and Ctrl-C also kills programs."""
    with ThreadPoolExecutor(count) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):
                for process in tuple(_running):
                    _end(process)
            raise


class Threads(Workers):
    """Threads of this process, for functions that wait for external programs."""

    def _executor(self, module: str, items: int) -> AbstractContextManager[Executor]:
        return threads(self.jobs)


class Processes(Workers):
    """Processes on this machine, for compute-bound module-level functions; items must be picklable.

    They import the main module, so a script must start them below ``if __name__ == "__main__"``.
    """

    @contextmanager
    def _executor(self, module: str, items: int) -> Iterator[Executor]:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            os._exit(1)  # a worker importing an unguarded script; the parent reports the error
        before = set(multiprocessing.active_children())
        # A forked process could inherit held locks.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([module])  # imported once, not by each worker
        started = context.Event()
        pool = ProcessPoolExecutor(min(self.jobs, items), context, _begin, (started,))
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - before:
                worker.kill()
            raise
        pool.shutdown()
        if not started.is_set():
            raise SchedulerError(
                "no worker process could start: each imports the main module, so a script must call "
                'this below if __name__ == "__main__":'
            )


def _begin(started: Event) -> None:  # pragma: no cover: runs in processes that save no coverage
    """Ignore Ctrl-C, which the parent process handles, and exit when the parent process exits."""
    started.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:  # pragma: no cover: runs in processes that save no coverage
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@dataclass(frozen=True)
class Cluster(Workers):
    """The workers of a Dask scheduler, for module-level functions; items must be picklable.

    If a worker dies, another worker repeats its work. If all workers die, work continues when a new one
    joins.

    Parameters
    ----------
    address : str
        ``tcp://HOST:PORT``.
    packages : tuple of str
        Packages whose version on each worker must be the same as on this machine.
    patience : float
        Seconds to wait for a scheduler or for the first worker.
    jobs : int
        Approximate number of items in progress at a time; the number of workers is unknown.

    Raises
    ------
    ToolMissingError
        Dask or one of the packages is not installed; raised when work starts.
    SchedulerError
        No scheduler answers, it has no workers, a worker lacks a package, an item kills its workers, or
        the scheduler is lost.
    """

    address: str
    packages: tuple[str, ...] = ("qstep", "numpy", "numba")
    patience: float = 10.0
    jobs: int = field(default=32, kw_only=True)

    @contextmanager
    def _executor(self, module: str, items: int) -> Iterator[Executor]:
        distributed = extras.load("distributed", "cluster")
        try:
            client = distributed.Client(self.address, timeout=self.patience, set_as_default=False)
        except (OSError, ValueError) as cause:
            raise SchedulerError(
                f"{self.address}: no Dask scheduler answered within {self.patience:g} s: {cause}"
            ) from cause
        with client:
            self._check(client)
            try:
                yield client.get_executor(pure=False)
            except distributed.KilledWorker as cause:
                raise SchedulerError(
                    f"{self.address}: a task killed every worker that ran it: {cause}"
                ) from cause
            except ModuleNotFoundError as cause:  # a worker that joined later
                raise SchedulerError(f"{self.address}: a worker failed with: {cause}") from cause
            except CancelledError as cause:
                raise SchedulerError(
                    f"{self.address}: the connection to the scheduler was lost"
                ) from cause

    def _check(self, client: Any) -> None:
        """Raise an error unless workers exist and all have the same package versions as this machine."""
        try:
            client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError as cause:
            raise SchedulerError(
                f"{self.address}: has no workers, and none joined within {self.patience:g} s; start one "
                f"where QStep is installed: dask worker {self.address}"
            ) from cause
        for package in self.packages:
            try:
                here = metadata.version(package)
            except metadata.PackageNotFoundError as cause:
                raise ToolMissingError(f"{package} is not installed here") from cause
            # A standard-library function, because a worker may lack QStep.
            found = client.run(metadata.version, package, on_error="return")
            for worker, there in found.items():
                if there != here:
                    has = there if isinstance(there, str) else "none"
                    raise SchedulerError(
                        f"{worker}: the worker has {package} {has}; it must be {here}, as here"
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
                f"workers died {deaths} times, with {len(left)} of {len(items)} tasks left; one of "
                "these tasks crashes its worker, or the machine lacks memory"
            )


def in_parallel(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: Workers,
    progress: Callable[[Result], object],
    known: Callable[[Item], Result | None] = lambda item: None,
) -> list[Result]:
    """Call `function` on all items whose results are not `known`; return all results in item order.

    `progress` is called with each result as it arrives. After an error, no further item is started.
    Raises SchedulerError as :func:`completed` does.
    """
    done = {n: found for n, item in enumerate(items) if (found := known(item)) is not None}
    for found in done.values():
        progress(found)
    left = [number for number in range(len(items)) if number not in done]
    for index, result in completed(function, [items[number] for number in left], workers):
        done[left[index]] = result
        progress(result)
    return [done[number] for number in range(len(items))]
