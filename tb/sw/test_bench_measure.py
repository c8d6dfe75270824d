"""The benchmark times what it says, in turns, and pairs what it compares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qstep.bench import measure
from qstep.bench.backend import Backend
from qstep.bench.measure import FEWEST, Measured, Repeat, Spread, calibrate

pytestmark = pytest.mark.unit


class FakeClock:
    """Seconds that pass only when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr(measure.time, "perf_counter", fake)
    return fake


def fake_backend(
    clock: FakeClock, name: str, per_update: float, log: list[tuple[str, int]] | None = None
) -> Backend:
    """A backend that takes 1 s to prepare, `per_update` s an update and 2 s to read."""

    def prepare(updates: int) -> int:
        clock.spend(1.0)
        return updates

    def kernel(updates: int) -> None:
        if log is not None:
            log.append((name, updates))
        clock.spend(per_update * updates)

    def read(result: None) -> Any:
        clock.spend(2.0)
        return np.zeros((2, 2))

    def verify(updates: int, table: Any) -> str:
        clock.spend(100.0)
        return "fine"

    return Backend(name, "made up", prepare, kernel, read, verify)


def measured(updates: int, *repeats: tuple[float, float]) -> Measured:
    backend = fake_backend(FakeClock(), "x", 1.0)
    return Measured(backend, updates, tuple(Repeat(*repeat) for repeat in repeats), "", None)


def test_kernel_and_end_to_end_times_cover_what_their_names_say(clock: FakeClock) -> None:
    limit = FEWEST
    [result] = measure.measure([fake_backend(clock, "a", 1 / FEWEST)], 2, 1.0, limit, str)
    assert result.repeats == (Repeat(1.0, 4.0), Repeat(1.0, 4.0))
    assert result.checked == "fine"


def test_backends_take_turns_after_their_warm_up(clock: FakeClock) -> None:
    log: list[tuple[str, int]] = []
    ticks: list[str] = []
    pair = [fake_backend(clock, name, 1e-3, log) for name in "ab"]
    results = measure.measure(pair, 3, 0.1, FEWEST, ticks.append)
    assert [name for name, _ in log][-6:] == ["a", "b"] * 3
    assert [len(result.repeats) for result in results] == [3, 3]
    assert ticks == ["a", "b"] * 4


@pytest.mark.parametrize(
    ("per_update", "seconds", "expected"),
    [
        pytest.param(1e-6, 10.0, 1 << 22, id="fills-the-time"),
        pytest.param(1.0, 10.0, FEWEST, id="never-below-the-fewest"),
        pytest.param(1e-9, 10.0, 1 << 24, id="never-above-the-limit"),
    ],
)
def test_calibration_finds_the_updates_of_one_repeat(
    clock: FakeClock, per_update: float, seconds: float, expected: int
) -> None:
    assert calibrate(fake_backend(clock, "a", per_update), seconds, 1 << 24) == expected


def test_rates_are_million_updates_a_second() -> None:
    kernel, whole = measure.rates(measured(4_000_000, (1.0, 2.0), (2.0, 4.0), (4.0, 8.0)))
    assert kernel == Spread(2.0, 1.0, 4.0)
    assert whole == Spread(1.0, 0.5, 2.0)


def test_ratios_pair_the_repeats_of_a_round() -> None:
    # Both slow down fourfold in the second round: paired, the ratio does not move.
    base = measured(1000, (1.0, 2.0), (4.0, 8.0))
    other = measured(5000, (0.5, 5.0), (2.0, 20.0))
    kernel, whole = measure.ratios(other, base)
    assert kernel == Spread(10.0, 10.0, 10.0)
    assert whole == Spread(2.0, 2.0, 2.0)
