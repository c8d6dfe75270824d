"""All kinds of workers return results in order, even if workers die."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from qstep._io.files import write_atomically
from qstep._io.workers import Here, Processes, Threads, Workers, in_parallel
from qstep.errors import SchedulerError


def square(number: int) -> int:
    return number * number


def square_or_die(item: tuple[int, str]) -> int:
    """Return the square; number 3 kills its worker, either always or until a file exists."""
    number, file = item
    if number == 3 and not (file and Path(file).exists()):
        if file:
            Path(file).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


@pytest.mark.parametrize(
    "workers", [Here(), Threads(2), Processes(2)], ids=lambda w: type(w).__name__
)
def test_results_are_in_the_order_of_the_items(workers: Workers) -> None:
    told: list[int] = []
    assert in_parallel(square, range(5), workers, told.append) == [0, 1, 4, 9, 16]
    assert sorted(told) == [0, 1, 4, 9, 16]
    assert in_parallel(square, [], workers, told.append) == []


def test_nobody_works_on_what_is_known() -> None:
    told: list[int] = []
    answers = {1: 100, 3: 300}
    results = in_parallel(square, [1, 2, 3], Here(), told.append, known=answers.get)
    assert results == [100, 4, 300]
    assert told == [100, 300, 4]


def test_work_of_a_process_that_died_is_done_again(tmp_path: Path) -> None:
    told: list[int] = []
    items = [(number, str(tmp_path / "died")) for number in range(6)]
    assert in_parallel(square_or_die, items, Processes(2), told.append) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "died").exists()
    assert sorted(told) == [0, 1, 4, 9, 16, 25]


def test_an_item_that_ends_every_process_is_given_up_and_the_others_are_kept() -> None:
    told: list[int] = []
    said = r"workers died 4 times, with \d of 3 tasks left"
    with pytest.raises(SchedulerError, match=said):
        in_parallel(square_or_die, [(n, "") for n in (1, 2, 3)], Processes(1), told.append)
    assert told == [1, 4]


@pytest.mark.parametrize("workers", [Here(), Threads(2)], ids=lambda w: type(w).__name__)
def test_an_error_of_an_item_comes_through_and_nothing_new_begins(workers: Workers) -> None:
    begun: list[int] = []

    def fail(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ZeroDivisionError
        time.sleep(0.01)

    with pytest.raises(ZeroDivisionError):
        in_parallel(fail, range(1000), workers, print)
    assert len(begun) < 1000


def work_on_or_raise(item: tuple[str, Path]) -> None:
    """Write the process id and work for ten minutes, or raise an error once that file exists."""
    what, file = item
    if what == "work":
        write_atomically(file, str(os.getpid()).encode())
        time.sleep(600)
    while not file.exists():
        time.sleep(0.01)
    raise ZeroDivisionError


def test_an_error_of_an_item_ends_processes_at_work(tmp_path: Path) -> None:
    file = tmp_path / "process"
    with pytest.raises(ZeroDivisionError):
        in_parallel(work_on_or_raise, [("work", file), ("raise", file)], Processes(2), print)
    process, until = int(file.read_text()), time.monotonic() + 30
    with suppress(ProcessLookupError):
        while True:
            os.kill(process, 0)
            assert time.monotonic() < until, "it is still at work"
            time.sleep(0.01)


class Dead(ThreadPoolExecutor):
    """An executor in which a process has died before all work was submitted."""

    given = 0

    def submit(self, *work: Any, **options: Any) -> Any:
        self.given += 1
        if self.given > 2:
            raise BrokenExecutor
        return super().submit(*work, **options)


class Dying(Workers):
    """Workers among which one dies early in every round."""

    @contextmanager
    def _executor(self, module: str, items: int) -> Iterator[Executor]:
        with Dead(1) as pool:
            yield pool


def test_what_a_dead_process_leaves_no_room_for_is_left_and_the_rest_is_returned() -> None:
    workers = Dying(1)
    assert sorted(workers.each(square, dict(enumerate(range(1, 6))))) == [(0, 1), (1, 4)]
    assert in_parallel(square, range(5), workers, print) == [0, 1, 4, 9, 16]
