"""Implementations take turns, are compared by round, and are checked; absent ones give a reason."""

import sys
import time
from typing import Any

import pytest

from qstep.errors import ToolMissingError
from qstep_bench import systems
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import (
    KERNEL,
    Absent,
    Benchmark,
    Comparison,
    Form,
    Spread,
    Turn,
    calibrate,
    compare,
)


def silent(what: str, done: int, total: int) -> None:
    """Ignore the progress."""


class FakeClock:
    """A clock that advances only on request; half of its seconds are CPU time."""

    now = 0.0

    def wall(self) -> float:
        return self.now

    step = 0.0
    """Resolution of the CPU-time clock in seconds; 0 means continuous."""

    def processor(self) -> float:
        seconds = self.now / 2
        return seconds - seconds % self.step if self.step else seconds

    def spend(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr(time, "perf_counter", fake.wall)
    monkeypatch.setattr(time, "process_time", fake.processor)
    return fake


def form(clock: FakeClock, name: str, each: list[float], **options: Any) -> Form:
    """Return an implementation whose calls take these seconds per unit; the last value repeats."""
    costs = iter(each)
    cost = 0.0

    def work(amount: int) -> int:
        nonlocal cost
        cost = next(costs, cost)
        clock.spend(cost * amount)
        return amount

    def check() -> str:
        clock.spend(100.0)
        return f"{name} is fine"

    return Form(name, f"what {name} is", work, options.pop("check", check), **options)


def made_up(clock: FakeClock) -> Benchmark:
    """Return two implementations that both slow down fourfold in the second round."""
    # Each implementation gets one warm-up call and one calibrating call, and then three rounds.
    slow = form(clock, "slow", [9.0, 1.0, 1.0, 4.0, 1.0])
    fast = form(clock, "fast", [9.0, 0.1, 0.1, 0.4, 0.1], base="slow", least=10)
    return Benchmark(
        "made-up", "do things", "things", (slow, fast), (Absent("gone", "a", "no <b>"),)
    )


@pytest.fixture
def comparison(clock: FakeClock) -> Comparison:
    return compare(made_up(clock), 3, 1.0, silent)


def test_forms_take_turns_and_are_checked_after_all_of_them(clock: FakeClock) -> None:
    log: list[tuple[str, int, int]] = []
    compare(made_up(clock), 2, 1.0, lambda *told: log.append(told))
    # The steps are calibration, two rounds, and checks.
    names = ["first runs", *["slow", "fast"] * 4]
    assert log == [(f"made-up: {name}", done, 8) for done, name in enumerate(names)]


def test_the_first_call_and_the_check_are_not_timed(comparison: Comparison) -> None:
    slow, fast = comparison.forms
    assert [turn.done for turn in slow.turns] == [1, 1, 1]
    assert [turn.seconds for turn in slow.turns] == pytest.approx([1.0, 4.0, 1.0])
    assert [turn.processor_s for turn in fast.turns] == pytest.approx([0.5, 2.0, 0.5])
    assert [slow.checked, fast.checked] == ["slow is fine", "fast is fine"]


def test_ratios_are_taken_inside_a_round(comparison: Comparison) -> None:
    slow, fast = comparison.forms
    assert slow.ratio is slow.processor_ratio is None
    # Without pairing, the second round would give 2.5 or 40.
    for ratio in (fast.ratio, fast.processor_ratio):
        assert ratio is not None
        assert (ratio.median, ratio.minimum, ratio.maximum) == pytest.approx((10, 10, 10))
    assert slow.rate == Spread(*map(pytest.approx, (1.0, 0.25, 1.0)))  # type: ignore[arg-type]
    assert fast.processor_rate == Spread(*map(pytest.approx, (20, 5, 20)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("step", "counts"), [(0.001, True), (1e3, False)])
def test_turns_of_one_clock_step_have_no_rate(step: float, counts: bool, clock: FakeClock) -> None:
    clock.step = step
    slow, fast = compare(made_up(clock), 3, 1.0, silent).forms
    assert slow.rate.median == pytest.approx(1.0)
    assert (slow.processor_rate is not None) == counts
    assert (fast.processor_ratio is not None) == counts


@pytest.mark.parametrize(
    ("each", "limits", "amount"),
    [
        (1.0, {"least": 1}, 1),
        (0.01, {"least": 1}, 128),
        (0.01, {"least": 100}, 100),
        (0.01, {"least": 3}, 96),
        (1e-3, {"least": 3, "most": 24}, 24),
    ],
)
def test_the_amount_of_a_turn_is_doubled_until_it_takes_its_time(
    clock: FakeClock, each: float, limits: dict[str, int], amount: int
) -> None:
    assert calibrate(form(clock, "a", [each], **limits), 1.0) == amount


def test_a_form_that_does_more_than_it_was_asked_for_gets_it_counted(clock: FakeClock) -> None:
    def whole_episodes(amount: int) -> int:
        clock.spend(2.0)
        return amount + 7

    system = Benchmark("s", "t", "steps", (Form("a", "b", whole_episodes, lambda: ""),))
    (timed,) = compare(system, 1, 1.0, silent).forms
    assert timed.turns == (Turn(8, 2.0, 1.0, {}),)
    assert timed.rate.median == 4.0


def test_wrong_work_ends_the_benchmark(clock: FakeClock) -> None:
    def wrong() -> str:
        raise WrongTableError("the loss is 3 and not 2")

    system = Benchmark("s", "t", "calls", (form(clock, "a", [1.0], check=wrong),))
    with pytest.raises(WrongTableError, match="the loss is 3 and not 2"):
        compare(system, 1, 1.0, silent)


def test_phases_are_those_of_the_turns(clock: FakeClock) -> None:
    seconds = {"prepare": 5.0, KERNEL: 7.0}  # from calibration, so they do not count

    def work(amount: int) -> int:
        clock.spend(4.0 * amount)
        seconds["prepare"] += 1.0 * amount
        seconds[KERNEL] += 3.0 * amount
        return amount

    entry = Form("a", "b", work, lambda: "fine", phases=lambda: seconds)
    (timed,) = compare(Benchmark("s", "t", "steps", (entry,)), 2, 1.0, silent).forms
    assert timed.shares == {"prepare": 0.25, KERNEL: 0.75}
    assert timed.rate == Spread(0.25, 0.25, 0.25)
    assert timed.kernel_rate == Spread(1 / 3, 1 / 3, 1 / 3)


def test_a_form_whose_first_run_lacks_a_tool_is_absent_with_the_reason(clock: FakeClock) -> None:
    def lacking(amount: int) -> int:
        raise ToolMissingError("no simulator")

    here = form(clock, "here", [1.0])
    told: list[tuple[int, int]] = []
    found = compare(
        Benchmark("s", "t", "steps", (Form("gone", "w", lacking, lambda: ""), here)),
        2,
        1.0,
        lambda what, done, total: told.append((done, total)),
    )
    assert [timed.name for timed in found.forms] == ["here"]
    assert found.absent == (Absent("gone", "w", "no simulator"),)
    assert told[-1] == (5, 5)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        pytest.param(
            1e-30, r"\d+ updates have left parameter 0 of the network as it was", id="none"
        ),
        pytest.param(1e30, r"parameter \d of the network is not finite", id="wild"),
    ],
)
@pytest.mark.parametrize("kind", ["dqn plain", "dqn", "pqn"])
def test_a_training_that_only_counts_is_caught(kind: str, rate: float, message: str) -> None:
    torch = pytest.importorskip("torch")
    from qstep_bench.training import Training

    training = Training("cartpole", kind, torch.device("cpu"), learning_rate=rate)
    entry = training.form("a", "b", None)
    entry.run(max(64, training.least))
    with pytest.raises(WrongTableError, match=message):
        entry.check()


def test_a_training_that_leaves_updates_out_is_caught() -> None:
    torch = pytest.importorskip("torch")
    from qstep_bench.training import Training

    training = Training("cartpole", "dqn", torch.device("cpu"))
    entry = training.form("a", "b", None)
    entry.run(training.least)
    training._run.learner.updates += 1000
    with pytest.raises(WrongTableError, match=r"\d+ updates in \d+ steps; there must be one every"):
        entry.check()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in systems.NAMES
        if name not in ("farm", "pqn-run")  # have their own test files: one part needs JAX
    ],
)
def test_every_form_of_every_system_does_what_it_is_asked_for_and_passes(name: str) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for each in systems.load(name).forms:
            amount = max(each.least, 64)
            assert each.run(amount) >= amount, each.name
            assert each.check(), each.name
    finally:
        torch.set_num_threads(threads)


def test_a_loss_that_is_not_that_of_pytorch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from qstep.deep.fast.q_loss import QLoss
    from qstep_bench.systems import qloss

    right = QLoss.forward
    monkeypatch.setattr(QLoss, "forward", lambda self: right(self) + 1e-3)
    form = next(form for form in qloss.benchmark("cpu").forms if form.base)
    with pytest.raises(WrongTableError, match=r"losses or TD errors differ by 1\.0e-03, more than"):
        form.check()


def test_names_of_forms_are_unique_and_their_bases_come_before_them() -> None:
    pytest.importorskip("torch")
    seen: list[str] = []
    for name in systems.PROFILED:
        system = systems.load(name)
        assert system.system == name
        own: list[str] = []
        for each in system.forms:
            assert each.base is None or each.base in own
            own.append(each.name)
        seen += [*own, *(entry.name for entry in system.absent)]
    assert len(seen) == len(set(seen))


def test_a_form_says_how_often_it_runs_a_network() -> None:
    pytest.importorskip("torch")
    said = {each.name: each.what for each in systems.load("qloss").forms}
    for variant, passes in (("single", "two"), ("target", "two"), ("double", "three")):
        assert f"{passes} passes" in said[f"qloss-{variant}-plain"]
        assert f"{passes} passes" in said[f"qloss-{variant}-plain-grad"]
        assert "one pass" in said[f"qloss-{variant}"]


def test_the_graph_says_that_recording_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from qstep_bench.baselines import torch_batched, torch_graph

    def learn(model: Any, updates: int, how: Any, device: str, watch: Any) -> Any:
        assert device == "cuda"
        # The same algorithm, for machines without CUDA.
        return torch_batched.learn(model, updates, how, "cpu", watch)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch_graph, "learn", learn)
    plain, fast, graph = systems.load("torch", "cuda").forms
    assert graph.what.endswith("recorded again in every turn")
    assert "recorded" not in plain.what + fast.what
    graph.run(graph.least)
    assert graph.check().endswith(
        " wins; each turn also records its graph, after 64 steps without one"
    )


def test_a_system_without_its_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "qstep_bench.systems.torch", raising=False)
    with pytest.raises(ToolMissingError, match=r"torch is not installed; run.*\[torch\]'"):
        systems.load("torch")


def test_a_broken_system_is_not_called_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qstep_bench.systems.torch", None)
    monkeypatch.delattr(systems, "torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"qstep_bench\.systems\.torch"):
        systems.load("torch")
