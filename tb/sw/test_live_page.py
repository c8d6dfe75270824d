"""The page of `qstep live`: what it shows and calls, and how a real browser displays it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.events import ButtonClick
from tb.browser import BrowserMissingError, chromium, deep, requested_hosts
from tb.sw.test_live import Program
from tb.sw.test_watch import plan_of, soon, watched

from qstep.envs import GridWorld, make
from qstep.envs.maps import map_of
from qstep.grid_map import GridMap
from qstep.watch.controller import Controller
from qstep.watch.figures import MapPicture
from qstep.watch.page import Page

pytestmark = pytest.mark.unit

NO_BROWSER = not (shutil.which("chromium") and shutil.which("chromedriver"))


def grid(world: str) -> GridMap | None:
    return map_of(make(world, 0))


class Shown:
    """A page in a document, without a browser."""

    def __init__(self, controller: Controller, world: str = "gridworld") -> None:
        self.document = Document()
        self.page = Page(controller, grid(world), f"{world} & more")
        self.page.fill(self.document)

    def __getitem__(self, name: str) -> Any:
        return self.document.select_one({"name": name})

    def click(self, name: str) -> None:
        self[name]._trigger_event(ButtonClick(self[name]))

    def source(self, name: str, glyph: str) -> dict[str, Any]:
        """Return the data of the first glyph of a kind in a picture."""
        (found, *_) = (
            renderer.data_source.data
            for renderer in self[name].renderers
            if type(renderer.glyph).__name__ == glyph
        )
        return dict(found)


@pytest.fixture
def shown() -> Iterator[tuple[Shown, Controller]]:
    with watched() as (controller, _):
        yield Shown(controller), controller


def test_buttons_steer_the_run(shown: tuple[Shown, Controller]) -> None:
    page, controller = shown
    page["steps"].value = 700
    page.click("step")
    soon(lambda: controller.view.steps == 700)
    page.click("play")
    soon(lambda: controller.playing and controller.view.steps > 700)
    page.page.tick()
    assert page["play"].label == "Pause"
    page.click("play")
    soon(lambda: not controller.playing)
    page.page.tick()
    assert page["play"].label == "Play"
    page.click("reset")
    soon(lambda: controller.view.steps == 0)
    # The field of steps may be empty, or out of its range.
    for given, steps in ((None, 1), (-5, 2), (10**9, 1_000_002)):
        page["steps"].value = given
        page.click("step")
        soon(lambda steps=steps: controller.view.steps == steps)


def test_sliders_show_and_set_what_the_device_has(shown: tuple[Shown, Controller]) -> None:
    page, controller = shown
    names = ("alpha", "gamma", "epsilon")
    assert [page[name].value for name in names] == [0.5, 0.9, 0.2]
    for value in (0.5, 0.375, 0.125):  # a slider that is being dragged
        for name in names:
            page[name].value = value
        page.page.tick()
        assert [page[name].value for name in names] == [value] * 3
    page["gamma"].value = 0

    def device() -> list[float]:
        page.page.tick()
        own = controller.view.settings
        return [own.alpha, own.gamma, own.epsilon.start]

    soon(lambda: device() == [0.125, 0, 0.125])
    controller.reset().result()
    assert device() == [0.5, 0.9, 0.2]
    assert [page[name].value for name in names] == [0.5, 0.9, 0.2]
    page["alpha"].value = 0.125  # at its earlier place
    soon(lambda: device() == [0.125, 0.9, 0.2])


@pytest.mark.parametrize(("side", "drawn"), [(64, True), (65, False)])
def test_a_large_map_has_no_arrows_and_letters(side: int, drawn: bool) -> None:
    rows = ["S" + "." * (side - 1), *["." * side] * (side - 2), "." * (side - 1) + "G"]
    large = map_of(GridWorld("\n".join(rows)))
    assert large is not None
    picture = MapPicture(large)
    picture.show(np.random.default_rng(0).random((side * side, 4)), [])
    glyphs = {type(part.glyph).__name__: part.data_source.data for part in picture.figure.renderers}
    assert ("Text" in glyphs) == drawn
    assert bool(len(glyphs["Segment"]["x0"])) == drawn
    assert np.isnan(glyphs["Image"]["image"][0]).sum() == 1  # the goal


def test_speed_is_chosen_and_is_that_of_all_pages(shown: tuple[Shown, Controller]) -> None:
    page, controller = shown
    other = Shown(controller)
    assert page["speed"].value == "0"
    page["speed"].value = "100"
    page.page.tick()
    soon(lambda: controller.speed == 100)
    other.page.tick()
    assert other["speed"].value == "100"


def test_pictures_and_counters_are_of_the_view(shown: tuple[Shown, Controller]) -> None:
    page, controller = shown
    empty = page.source("map", "Image")["image"][0]
    assert np.isnan(empty).all()
    view = controller.step(3000).result()
    page.page.tick()
    q = view.q[0]
    assert np.array_equal(page.source("table", "Image")["image"][0], q.T)
    values = np.flipud(page.source("map", "Image")["image"][0])
    known = ~np.isnan(values)
    assert np.array_equal(values[known], q.max(axis=1).reshape(5, 5)[known])
    assert 15 < known.sum() < 25
    # The first cell's arrow ends where its greedy action leads: gridworld's are up, down, left, right.
    arrows = page.source("map", "Segment")
    across, up = arrows["x1"][0] - arrows["x0"][0], arrows["y1"][0] - arrows["y0"][0]
    assert (np.sign(across), np.sign(up)) == ((0, 1), (0, -1), (-1, 0), (1, 0))[q[0].argmax()]
    assert (arrows["x0"] + arrows["x1"])[0] == 0
    assert (arrows["y0"] + arrows["y1"])[0] == 8  # the first row is above
    places = [own.state for own in view.states]
    dots = [
        data for data in (r.data_source.data for r in page["map"].renderers) if "colour" in data
    ]
    assert [round(x) for x in dots[0]["x"]] == [place % 5 for place in places]
    assert [4 - round(y) for y in dots[0]["y"]] == [place // 5 for place in places]
    curve = page.source("values", "Line")
    assert list(curve["steps"]) == [point.steps for point in view.points]
    assert list(curve["high"]) == [max(point.value) for point in view.points]
    assert len(page.source("values", "MultiLine")["y"]) == 2
    episodes = sum(own.episodes for own in view.counters)
    text = page["tiles"].text
    assert "<b>3,000</b><span>steps of each agent" in text
    assert f"<b>{episodes:,}</b><span>episodes" in text
    assert "<b>0</b><span>updates/s" in text
    assert "<b>2 of 2</b><span>within 1 % of the optimum" in text
    page["agent"].value = 1
    page.page.tick()
    assert np.array_equal(page.source("table", "Image")["image"][0], view.q[1].T)


def test_gamma_of_1_leaves_a_gap_and_an_error_is_shown_as_text(
    shown: tuple[Shown, Controller],
) -> None:
    page, controller = shown
    controller.step(300).result()
    controller.configure(gamma=1.0)
    controller.step(300).result()
    page.page.tick()
    steps = page.source("values", "Line")["steps"]
    assert list(steps) == [128, 256]
    assert list(page.source("returns", "Line")["steps"])[-1] == 512
    controller.error = OSError("<b>gone</b>")
    page.page.tick()
    assert "&lt;b&gt;gone&lt;/b&gt;</b><span>the device failed" in page["tiles"].text
    assert page.document.template_variables["headline"] == "gridworld &amp; more"


@pytest.mark.parametrize("world", ["Taxi-v3", "FrozenLake-v1"])
def test_world_without_a_map_shows_its_table(world: str) -> None:
    plan = plan_of(world, shared_table=True)
    with watched(plan) as (controller, _):
        view = controller.step(500).result()
        page = Shown(controller, world)
        assert (page["map"] is None) == (world == "Taxi-v3")
        assert not page["agent"].visible
        assert np.array_equal(page.source("table", "Image")["image"][0], view.q[0].T)


def test_of_a_large_table_the_first_states_are_shown() -> None:
    with watched(plan_of("gridworld", config=None)) as (controller, _):
        view = controller.view
        wide = np.zeros((1, 40_000, 4))
        object.__setattr__(view, "q", wide)
        page = Shown(controller, "Taxi-v3")
        assert page.source("table", "Image")["image"][0].shape == (4, 16_384)
        assert page["table"].title.text == "Q table: the first 16384 states"


@pytest.mark.parametrize("lacks", ["chromium", "chromedriver"])
def test_missing_browser_is_told_with_its_remedy(
    lacks: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for program in {"chromium", "chromedriver"} - {lacks}:
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    message = f"^{lacks} not found: apt install chromium chromium-driver"
    with pytest.raises(BrowserMissingError, match=message), chromium():
        pass


@pytest.mark.skipif(NO_BROWSER, reason="Chromium with its driver is not installed")
def test_browser_shows_a_run_and_steers_it() -> None:
    from selenium.webdriver.common.keys import Keys

    program = Program("gridworld", "--speed", "200")
    try:
        with chromium() as browser:
            browser.get(program.address)

            def model(name: str, what: str) -> Any:
                found = f"Bokeh.documents[0].get_model_by_name('{name}').{what}"
                return browser.execute_script(f"return {found}")

            def table() -> Any:
                return model("table", "renderers[0].data_source.data.image[0]")

            def tile(name: str) -> str:
                text = model("tiles", "text")
                return str(text).partition(f"</b><span>{name}")[0].rpartition("<b>")[2]

            def click(name: str) -> None:
                soon(lambda: deep(browser, f".{name}", "button")).click()

            soon(lambda: browser.execute_script("return !!(window.Bokeh && Bokeh.documents[0])"))
            first = table()
            soon(lambda: table() != first)
            click("play")
            soon(lambda: model("play", "label") == "Play")
            soon(lambda: tile("updates/s") == "0")
            rested, steps = table(), tile("steps of each agent")
            time.sleep(0.5)
            assert (table(), tile("steps of each agent")) == (rested, steps)

            click("step")
            after = f"{int(steps.replace(',', '')) + 100:,}"
            soon(lambda: tile("steps of each agent") == after)

            handle = deep(browser, ".alpha", ".noUi-handle")
            handle.send_keys(Keys.HOME)
            soon(lambda: model("alpha", "value") == 0)
            time.sleep(0.3)  # until the device has it
            click("step")
            frozen = table()
            soon(lambda: tile("steps of each agent") != after)
            assert table() == frozen  # alpha is 0: nothing is learnt

            click("reset")
            soon(lambda: tile("steps of each agent") == "0")
            assert any(frozen)
            soon(lambda: model("alpha", "value") == 0.5)
            assert table() == [0] * 100
            assert requested_hosts(browser) == {"127.0.0.1"}
            complaints = [e for e in browser.get_log("browser") if e["level"] != "INFO"]
            assert complaints == []

            # Both checks see a request to another host; the page's own policy refuses it.
            browser.execute_script("new Image().src = 'http://localhost:1/'")
            refused = soon(lambda: browser.get_log("browser"))
            assert "Content Security Policy" in refused[0]["message"]
            browser.get("about:blank")
            browser.execute_script("new Image().src = 'http://localhost:1/'")
            soon(lambda: "localhost" in requested_hosts(browser))
    finally:
        program.ends(15)
