"""Work on many machines: the workers of a Dask scheduler, any of which may die."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar

from qstep._io import extras
from qstep.errors import SchedulerError, ToolMissingError

__all__ = ["Cluster"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The workers of a Dask scheduler, as :class:`qstep._io.workers.Workers`.

    If a worker dies, another one repeats its work. If all die, work continues when a new one appears.

    Parameters
    ----------
    address : str
        ``tcp://HOST:PORT``.
    packages : tuple of str
        Packages that each worker must have in the same version as here.
    patience : float
        Seconds to wait for a scheduler or for the first worker.
    jobs : int
        Approximate number of pieces of work at a time; the number of workers is not known.
    """

    address: str
    packages: tuple[str, ...] = ("qstep", "numpy", "numba")
    patience: float = 10.0
    jobs: int = 32

    def each(
        self, function: Callable[[Item], Result], items: Mapping[int, Item]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield results as they arrive; `function` must belong to a module, and items must be picklable.

        Raises
        ------
        ToolMissingError
            Dask, or one of the packages, is not installed.
        SchedulerError
            There is no scheduler or no worker, a worker lacks a package, an item kills its workers, or
            the scheduler was lost.
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
                    f"{self.address}: a piece of work killed every worker that tried it: {cause}"
                ) from cause
            except ModuleNotFoundError as cause:  # a worker that joined later
                raise SchedulerError(f"{self.address}: a worker has {cause}") from cause
            except CancelledError as cause:
                raise SchedulerError(f"{self.address}: the scheduler was lost") from cause

    def _check(self, client: Any) -> None:
        """Refuse workers that would give other results, or none."""
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
            # A function of the standard library, which workers without QStep know too.
            found = client.run(metadata.version, package, on_error="return")
            for worker, there in found.items():
                if there != here:
                    has = there if isinstance(there, str) else "none"
                    raise SchedulerError(
                        f"{worker}: the worker has {package} {has}; it must be {here}, as here"
                    )
