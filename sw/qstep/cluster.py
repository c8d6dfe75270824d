"""Work on many machines: the workers of a Dask scheduler, of which any may die."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar

from qstep import extras
from qstep.errors import SchedulerError, ToolMissingError

__all__ = ["Cluster"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The workers of a Dask scheduler, as :class:`qstep.scheduler.Workers`.

    What a worker was at that dies is done again by another one. Where all have died, work goes on when
    one comes.

    Parameters
    ----------
    address : str
        ``tcp://HOST:PORT``.
    packages : tuple of str
        What each worker must have, in the version that is here.
    patience : float
        Seconds until a scheduler, or the first worker, is given up.
    jobs : int
        Pieces of work at a time, about; nobody knows who comes.
    """

    address: str
    packages: tuple[str, ...] = ("qstep", "numpy", "numba")
    patience: float = 10.0
    jobs: int = 32

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield results as they come; `function` is one of a module, and items can be pickled.

        Raises
        ------
        ToolMissingError
            Dask, or one of the packages, is not installed.
        SchedulerError
            No scheduler or no worker is there, one lacks a package, an item ends its workers, or the
            scheduler was lost.
        """
        distributed = extras.load("distributed", "cluster")
        try:
            client = distributed.Client(self.address, timeout=self.patience, set_as_default=False)
        except (OSError, ValueError) as cause:
            raise SchedulerError(
                f"{self.address}: no Dask scheduler answered within {self.patience:g} s: {cause}"
            ) from cause
        with client:
            self._check(client)
            futures = {client.submit(function, item, pure=False): n for n, item in items.items()}
            try:
                for future in distributed.as_completed(futures, loop=client.loop):
                    yield futures[future], future.result()
            except distributed.KilledWorker as cause:
                raise SchedulerError(
                    f"{self.address}: a piece of work ended every worker that was at it: {cause}"
                ) from cause
            except ModuleNotFoundError as cause:  # of one that came later
                raise SchedulerError(f"{self.address}: a worker has {cause}") from cause
            except CancelledError as cause:
                raise SchedulerError(f"{self.address}: the scheduler was lost") from cause

    def _check(self, client: Any) -> None:
        """Refuse workers that would do something else, or nothing."""
        try:
            client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError as cause:
            raise SchedulerError(
                f"{self.address}: has no workers, and none came within {self.patience:g} s; start one "
                f"where QStep is installed: dask worker {self.address}"
            ) from cause
        for package in self.packages:
            try:
                here = metadata.version(package)
            except metadata.PackageNotFoundError as cause:
                raise ToolMissingError(f"{package} is not installed here") from cause
            # A function of Python's own: workers without QStep know it too.
            found = client.run(metadata.version, package, on_error="return")
            for worker, there in found.items():
                if there != here:
                    has = there if isinstance(there, str) else "none"
                    raise SchedulerError(
                        f"{worker}: the worker has {package} {has}; it must be {here}, as here"
                    )
