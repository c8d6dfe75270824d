"""Forms of a system take turns, are paired round by round, and shown with what was found of them."""

from __future__ import annotations

import base64
import io
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from qstep.bench import pairs, systems
from qstep.bench.backend import Absent
from qstep.bench.checks import WrongTableError
from qstep.bench.html import _html, page, write_page
from qstep.bench.measure import Spread
from qstep.bench.numbers import short
from qstep.bench.pairs import Comparison, Form, System, Turn, calibrate, compare
from qstep.bench.plot import draw
from qstep.bench.report import Report, run
from qstep.bench.table import render
from qstep.errors import ToolMissingError, TorchDeviceError

pytestmark = pytest.mark.unit


class FakeClock:
    """Seconds that pass only when told, half of them on the processor."""

    now = 0.0

    def wall(self) -> float:
        return self.now

    def processor(self) -> float:
        return self.now / 2

    def spend(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr(pairs.time, "perf_counter", fake.wall)
    monkeypatch.setattr(pairs.time, "process_time", fake.processor)
    return fake


def form(clock: FakeClock, name: str, each: list[float], **options: Any) -> Form:
    """A form whose calls take `each` seconds a unit, one after the other, the last for ever."""
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


def made_up(clock: FakeClock) -> System:
    """Both slow down fourfold in the second round."""
    # One warm-up and one calibrating call each, then three rounds.
    slow = form(clock, "slow", [9.0, 1.0, 1.0, 4.0, 1.0], phases=lambda: {"act": 1.0, "learn": 3.0})
    fast = form(clock, "fast", [9.0, 0.1, 0.1, 0.4, 0.1], base="slow", least=10)
    return System("made-up", "do things", "things", (slow, fast), (Absent("gone", "a", "no <b>"),))


@pytest.fixture
def comparison(clock: FakeClock) -> Comparison:
    return compare(made_up(clock), 3, 1.0, lambda name: None)


def test_forms_take_turns_and_are_checked_after_all_of_them(clock: FakeClock) -> None:
    log: list[str] = []
    compare(made_up(clock), 2, 1.0, log.append)
    # Calibration, two rounds, checks.
    assert log == ["slow", "fast"] * 4


def test_the_first_call_and_the_check_are_not_timed(comparison: Comparison) -> None:
    slow, fast = comparison.forms
    assert [turn.done for turn in slow.turns] == [1, 1, 1]
    assert [turn.seconds for turn in slow.turns] == pytest.approx([1.0, 4.0, 1.0])
    assert [turn.processor_s for turn in fast.turns] == pytest.approx([0.5, 2.0, 0.5])
    assert [slow.checked, fast.checked] == ["slow is fine", "fast is fine"]


def test_ratios_are_taken_inside_a_round(comparison: Comparison) -> None:
    slow, fast = comparison.forms
    assert slow.ratio is slow.processor_ratio is None
    # Unpaired, the second round would give 2.5 or 40.
    for ratio in (fast.ratio, fast.processor_ratio):
        assert ratio is not None
        assert (ratio.median, ratio.minimum, ratio.maximum) == pytest.approx((10, 10, 10))
    assert slow.rate == Spread(*map(pytest.approx, (1.0, 0.25, 1.0)))  # type: ignore[arg-type]
    assert fast.processor_rate == Spread(*map(pytest.approx, (20, 5, 20)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("each", "least", "amount"),
    [(1.0, 1, 1), (0.01, 1, 128), (0.01, 100, 100), (0.01, 3, 96)],
)
def test_the_amount_of_a_turn_is_doubled_until_it_takes_its_time(
    clock: FakeClock, each: float, least: int, amount: int
) -> None:
    assert calibrate(form(clock, "a", [each], least=least), 1.0) == amount


def test_a_form_that_does_more_than_it_was_asked_for_gets_it_counted(clock: FakeClock) -> None:
    def whole_episodes(amount: int) -> int:
        clock.spend(2.0)
        return amount + 7

    system = System("s", "t", "steps", (Form("a", "b", whole_episodes, lambda: ""),))
    (timed,) = compare(system, 1, 1.0, lambda name: None).forms
    assert timed.turns == (Turn(8, 2.0, 1.0),)
    assert timed.rate.median == 4.0


def test_wrong_work_ends_the_benchmark(clock: FakeClock) -> None:
    def wrong() -> str:
        raise WrongTableError("the loss is 3 and not 2")

    system = System("s", "t", "calls", (form(clock, "a", [1.0], check=wrong),))
    with pytest.raises(WrongTableError, match="the loss is 3 and not 2"):
        compare(system, 1, 1.0, lambda name: None)


@pytest.mark.parametrize("name", systems.NAMES)
def test_every_form_of_every_system_does_what_it_is_asked_for_and_passes(name: str) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for each in systems.load(name).forms:
            assert each.run(each.least) >= each.least, each.name
            assert each.check(), each.name
    finally:
        torch.set_num_threads(threads)


def test_names_of_forms_are_unique_and_their_bases_come_before_them() -> None:
    pytest.importorskip("torch")
    seen: list[str] = []
    for name in systems.NAMES:
        system = systems.load(name)
        assert system.name == name
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
    from qstep.baselines import torch_batched, torch_graph

    def learn(*given: Any, device: str, **options: Any) -> Any:
        assert device == "cuda"
        return torch_batched.learn(*given, **options)  # the same algorithm, where there is no CUDA

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch_graph, "learn", learn)
    plain, fast, graph = systems.load("torch", "cuda").forms
    assert graph.what.endswith("recorded anew in every turn")
    assert "recorded" not in plain.what + fast.what
    graph.run(graph.least)
    assert graph.check().endswith(
        " wins; each turn also records its graph, after 64 steps without one"
    )


def test_a_system_without_its_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "qstep.bench.systems.torch", raising=False)
    with pytest.raises(ToolMissingError, match=r"torch is not installed: pip .*qstep\[torch\]'"):
        systems.load("torch")


def test_a_system_with_a_mistake_of_its_own_is_not_called_a_missing_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "qstep.bench.systems.torch", None)
    monkeypatch.delattr(systems, "torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"qstep\.bench\.systems\.torch"):
        systems.load("torch")


def test_a_system_on_an_absent_device_is_refused() -> None:
    pytest.importorskip("torch")
    with pytest.raises(TorchDeviceError, match="no device 'abacus'"):
        systems.load("torch", "abacus")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.500"), (999.0, "999"), (1000.0, "1.00 k"), (43_210.0, "43.2 k"), (2e6, "2.00 M")],
)
def test_rates_are_written_short(value: float, text: str) -> None:
    assert short(value) == text


@pytest.fixture
def whole(clock: FakeClock) -> Report:
    return run((), 3, 1.0, lambda what, done, total: None, systems=[made_up(clock)])


def test_progress_ends_when_all_is_done(clock: FakeClock) -> None:
    seen: list[tuple[int, int]] = []
    run((), 2, 1.0, lambda what, done, total: seen.append((done, total)), None, [made_up(clock)])
    assert seen == [(done, 8) for done in range(9)]


def test_the_terminal_shows_rates_ratios_phases_and_the_absent(whole: Report) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(render(whole))
    text = re.sub(r"\s+", " ", console.export_text())
    assert "made-up: do things" in text
    assert "things/s" in text
    assert re.search(r"fast 10\.0 100,000 10\.0 10\.0 vs slow 2\.50\.\.10\.0", text)
    assert "slow: slow is fine" in text
    assert re.search(r"act learn .* slow 25% 75%", text)
    assert "absent: gone: no <b>" in text
    assert "median of 3 turns" in text
    assert "Million updates/s" not in text  # that is said of the grid world only


@pytest.mark.parametrize("name", ["short", "qloss-single-plain-grad", "x" * 30])
def test_no_name_is_broken_on_a_terminal_of_80_columns(clock: FakeClock, name: str) -> None:
    slow = form(clock, name, [1.0])
    fast = form(clock, f"{name}er", [1e-4], base=name)
    system = System("made-up", "do things", "things", (slow, fast))
    report = run((), 3, 1.0, lambda what, done, total: None, systems=[system])
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(render(report))
    lines = console.export_text().splitlines()
    assert {name, f"{name}er"} <= {line.split()[0] for line in lines if line.split()}
    assert "…" not in "".join(lines)
    assert max(map(len, lines)) <= 80


class Page(HTMLParser):
    """Collects what a page has, and what it would fetch from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.pictures: list[str] = []
        self.fetched: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and value:
                kept = value.startswith("data:")
                (self.pictures if kept else self.fetched).append(value)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_holds_everything_and_fetches_nothing(whole: Report, tmp_path: Path) -> None:
    write_page(whole, tmp_path / "new" / "bench.html")
    text = (tmp_path / "new" / "bench.html").read_text(encoding="utf-8")
    found = Page(text)
    assert found.fetched == []
    assert "@import" not in text
    assert "url(" not in text
    assert found.tags.count("table") == 2  # rates and phases
    assert not {"script", "link", "b"} & set(found.tags)
    assert "absent: gone: no <b>" in found.text
    assert whole.machine["cpu"] in found.text
    (picture,) = found.pictures
    drawn = base64.b64decode(picture.removeprefix("data:image/svg+xml;base64,"))
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_page_that_fetches_is_noticed() -> None:
    assert Page('<img src="https://example.org/a.png">').fetched == ["https://example.org/a.png"]


def test_a_part_without_a_form_in_html_is_refused() -> None:
    with pytest.raises(TypeError, match="has no form in HTML"):
        list(_html("words"))
    assert list(_html(Table(title="none")))


def test_json_holds_every_turn(whole: Report, tmp_path: Path) -> None:
    import json

    whole.write(tmp_path / "bench.json")
    (tree,) = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))["systems"]
    assert tree["system"] == "made-up"
    assert [len(entry["turns"]) for entry in tree["forms"]] == [3, 3]
    assert tree["forms"][1]["ratio"]["median"] == pytest.approx(10)
    assert tree["absent"][0]["reason"] == "no <b>"


def test_the_picture_has_a_bar_for_every_form_and_every_ratio(whole: Report) -> None:
    (part,) = draw(whole).subfigs
    rates, ratios = part.axes
    assert [len(axes.patches) for axes in (rates, ratios)] == [2, 1]
    assert [label.get_text() for label in rates.get_yticklabels()] == [
        "slow",
        "fast\nagainst slow",
    ]
    assert page(whole).count("<img") == 1
