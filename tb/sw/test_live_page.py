"""The page of `qstep live`: its contents, its controls, and its display in a real browser."""

import math
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.events import ButtonClick
from bokeh.models import LinearColorMapper, LogScale
from tb.browser import BrowserMissingError, chromium, deep, requested_hosts
from tb.sw.test_live import Program
from tb.sw.test_watch import host_run, plan_of, soon, watched

from qstep.envs import GridWorld, make
from qstep.envs.maps import map_of
from qstep.envs.rendering import GridMap
from qstep.errors import PrecisionWarning
from qstep.live.controller import Controller
from qstep.live.figures import MapPicture, TablePicture
from qstep.live.game import Game
from qstep.live.page import Page

PNG = "data:image/png;base64,"

NO_BROWSER = not (shutil.which("chromium") and shutil.which("chromedriver"))


def grid(world: str) -> GridMap | None:
    return map_of(make(world, 0))


class Shown:
    """A page as a Bokeh document, without a browser."""

    def __init__(
        self, controller: Controller, world: str = "gridworld", game: Game | None = None
    ) -> None:
        self.document = Document()
        self.page = Page(controller, grid(world), f"{world} & more", game)
        self.page.fill(self.document)

    def __getitem__(self, name: str) -> Any:
        return self.document.select_one({"name": name})

    def click(self, name: str) -> None:
        self[name]._trigger_event(ButtonClick(self[name]))

    def source(self, name: str, glyph: str) -> dict[str, Any]:
        """Return the data of the first glyph of this type in a picture."""
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
    # The steps field may be empty or out of range.
    for given, steps in ((None, 1), (-5, 2), (10**9, 1_000_002)):
        page["steps"].value = given
        page.click("step")
        soon(lambda steps=steps: controller.view.steps == steps)  # type: ignore[misc]


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
    page["alpha"].value = 0.125  # its value before the reset
    soon(lambda: device() == [0.125, 0.9, 0.2])


def test_page_says_the_learned_discount_and_refuses_a_value(
    shown: tuple[Shown, Controller],
) -> None:
    page, controller = shown

    def set_alpha(value: float, told: Callable[[], bool]) -> None:
        page["alpha"].value = value
        soon(lambda: (page.page.tick(), told())[1])

    def refused() -> bool:
        return bool(page["refused"].visible)

    with pytest.warns(PrecisionWarning, match="learns the discount 0.878788"):
        set_alpha(0.001, lambda: "learned as" in page["about"].text)
    assert "At gamma 0.9, learned as 0.878788, the optimum is" in page["about"].text
    set_alpha(0.0001, refused)
    assert "learns the discount 1, because" in page["refused"].text
    assert page["alpha"].value == controller.view.settings.alpha == 0.001
    set_alpha(0.5, lambda: not refused())


def assert_table(page: Shown, q: Any) -> None:
    """Check that the table's picture shows its values, and omits states where nothing is learned."""
    drawn = page.source("table", "Image")["image"][0]
    learnt = np.ptp(q, axis=1) > 0
    assert np.array_equal(drawn[:, learnt], q[learnt].T)
    assert np.isnan(drawn[:, ~learnt]).all()


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


def test_one_hole_does_not_flatten_the_colours() -> None:
    picture = TablePicture(16, 4)
    q = np.linspace(-8.0, -1.0, 64).reshape(16, 4)
    q[5, 2] = q[9, 0] = -100.0
    picture.show(q)
    mapper = picture.figure.select_one({"type": LinearColorMapper})
    assert -31 < mapper.low <= -8
    assert mapper.high == -1
    assert mapper.low_color not in mapper.palette
    q[:] = 0.0
    q[3, 1] = 1.0  # quartiles are equal, so the scale covers all values
    picture.show(q)
    assert (mapper.low, mapper.high) == (0, 1)


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
    assert_table(page, q)
    values = np.flipud(page.source("map", "Image")["image"][0])
    known = ~np.isnan(values)
    assert np.array_equal(values[known], q.max(axis=1).reshape(5, 5)[known])
    assert 15 < known.sum() < 25
    # The first cell's arrow points to where its greedy action leads; actions are up, down, left, right.
    arrows = page.source("map", "Segment")
    across, up = arrows["x1"][0] - arrows["x0"][0], arrows["y1"][0] - arrows["y0"][0]
    assert (np.sign(across), np.sign(up)) == ((0, 1), (0, -1), (-1, 0), (1, 0))[q[0].argmax()]
    assert (arrows["x0"] + arrows["x1"])[0] == 0
    assert (arrows["y0"] + arrows["y1"])[0] == 8  # the first row is at the top
    places = [own.state for own in view.states]
    dots = [
        data for data in (r.data_source.data for r in page["map"].renderers) if "colour" in data
    ]
    assert [round(x) for x in dots[0]["x"]] == [place % 5 for place in places]
    assert [4 - round(y) for y in dots[0]["y"]] == [place // 5 for place in places]
    assert dots[0]["ring"] == ["black", "white"]
    for window, points in ((1, view.points), (0, view.recent)):
        page["window"].active = window
        page.page.tick()
        curve = page.source("values", "Line")
        assert list(curve["steps"]) == [point.steps for point in points]
        assert list(curve["high"]) == [max(point.value) for point in points]
        assert len(page.source("values", "MultiLine")["y"]) == 2
        figure = page["values"]
        assert isinstance(figure.x_scale, LogScale) == (window == 1)
        assert figure.x_range.end >= points[-1].steps >= points[0].steps >= figure.x_range.start
    episodes = sum(own.episodes for own in view.counters)
    text = page["tiles"].text
    assert "<b>3,000</b><span>steps of each agent" in text
    assert f"<b>{episodes:,}</b><span>episodes" in text
    assert "<b>0</b><span>updates/s" in text
    assert "<b>2 of 2</b><span>within 1 % of the optimum" in text
    median = np.median(view.recent[-1].mean_return)
    assert f"<b>{median:.2f}</b><span>return, median" in text
    assert math.isnan(controller.step(1).result().recent[-1].mean_return[0])  # no episode ended
    page.page.tick()
    assert f"<b>{median:.2f}</b><span>return, median" in page["tiles"].text
    view = controller.view
    page["agent"].value = 1
    page.page.tick()
    assert_table(page, view.q[1])
    (hover,) = (
        data for data in (r.data_source.data for r in page["map"].renderers) if "kind" in data
    )
    assert hover["kind"][:6] == ["start", *["free"] * 4, "hole"]
    for name, values in zip(("up", "down", "left", "right"), view.q[1].T, strict=True):
        assert np.array_equal(hover[name], values)


def test_gamma_of_1_leaves_a_gap_and_an_error_is_text(shown: tuple[Shown, Controller]) -> None:
    page, controller = shown
    controller.step(300).result()
    controller.configure(gamma=1.0)
    controller.step(300).result()
    page["window"].active = 1
    page.page.tick()
    steps = page.source("values", "Line")["steps"]
    assert list(steps) == [128, 256]
    assert list(page.source("returns", "Line")["steps"])[-1] == 512
    assert page["about"].text == "At gamma 1, policies have no discounted value."
    controller.error = OSError("<b>gone</b>")
    page.page.tick()
    assert "&lt;b&gt;gone&lt;/b&gt;</b><span>the device failed" in page["tiles"].text
    assert page.document.template_variables["headline"] == "gridworld &amp; more"


@pytest.mark.slow
@pytest.mark.parametrize("world", ["Taxi-v3", "FrozenLake-v1"])
def test_world_without_a_map_shows_its_table(world: str) -> None:
    plan = plan_of(world, shared_table=True)
    with watched(plan) as (controller, _):
        view = controller.step(500).result()
        page = Shown(controller, world)
        assert (page["map"] is None) == (world == "Taxi-v3")
        assert not page["agent"].visible
        assert_table(page, view.q[0])


def test_of_a_large_table_the_first_states_are_shown() -> None:
    with watched(plan_of("gridworld", config=None)) as (controller, _):
        view = controller.view
        wide = np.zeros((1, 40_000, 4))
        object.__setattr__(view, "q", wide)
        page = Shown(controller, "Taxi-v3")
        assert page.source("table", "Image")["image"][0].shape == (4, 16_384)
        assert page["table"].xaxis.axis_label == "state (the first 16,384 of 40,000)"


def test_moved_slider_is_marked_on_the_curves(shown: tuple[Shown, Controller]) -> None:
    page, controller = shown
    controller.step(300).result()
    controller.configure(gamma=0.97, epsilon=0.75)
    controller.step(300).result()
    page.page.tick()
    for name in ("returns", "values"):
        marks = page.source(name, "VSpan")
        assert marks["x"] == [300, 300]
        assert marks["text"] == ["gamma 0.97", "epsilon 0.75"]
        assert marks["y"][0] > marks["y"][1]  # so the texts do not overlap
    assert "the optimal policy ends in a hole (state 5)" in page["about"].text
    controller.configure(gamma=0.9).result()
    page.page.tick()
    assert page["about"].text == "At gamma 0.9 the optimum is -4.739."
    _, best = (
        renderer.data_source.data
        for renderer in page["values"].renderers
        if type(renderer.glyph).__name__ == "Line"
    )
    # Each point shows the optimum at its own gamma; on a slow machine, there are more points.
    assert [best["y"][0], best["y"][-1]] == pytest.approx([-4.739, -5], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["snake", "cartpole"])
def test_game_is_drawn_and_played_while_the_run_goes_on(world: str) -> None:
    run, _ = host_run(world)
    twin, _ = host_run(world)
    game = Game.of(world)
    assert game is not None
    with Controller(run, 0) as controller:
        page = Shown(controller, world, game)
        assert page["map"] is None
        first = page["game"].text
        assert PNG in first
        page.page.tick()
        assert page["game"].text == first  # paused
        controller.play().result()
        page.page.tick()
        assert page["game"].text != first
        assert game.steps == 1
        assert "episode: step 1, return" in page["game"].text
        view = controller.pause().result()
    with Controller(twin, 0) as controller:
        assert np.array_equal(view.q, controller.step(view.steps).result().q)


@pytest.mark.parametrize("world", ["Taxi-v3", "Blackjack-v1", "gridworld", "here.npz"])
def test_without_pygame_a_game_is_text_or_none(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    game = Game.of(world)
    assert (game is None) == (world in ("Blackjack-v1", "here.npz"))
    if game is None:
        return
    assert (PNG in game.picture) == (world == "gridworld")
    if world == "Taxi-v3":
        assert re.search('<span style="[^"]*background-color: #[^"]*">', game.picture)
        assert "\x1b" not in game.picture
    before = game.picture
    q = np.zeros((500, 6 if world == "Taxi-v3" else 4))
    q[:, 1] = 1.0
    for _ in range(3):
        game.advance(q, 0.0)
    assert game.picture != before
    while not game.over:
        game.advance(q, 1.0)
    steps = game.steps
    while game.over:
        game.advance(q, 1.0)
        assert game.steps in (steps, 0)
    assert game.total == 0
    game.advance(q[:0], 0.0)  # the page must survive any failure, here a table without rows
    assert "The picture failed: IndexError" in game.picture
    game.advance(q, 0.0)
    assert game.steps == 0
    game.close()


@pytest.mark.parametrize("lacks", ["chromium", "chromedriver"])
def test_lost_browser_is_named(lacks: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in {"chromium", "chromedriver"} - {lacks}:
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    message = f"^{lacks} not found: apt install chromium chromium-driver"
    with pytest.raises(BrowserMissingError, match=message), chromium():
        pass


@pytest.fixture
def browser() -> Iterator[Any]:
    """Open a browser on the page of a running program."""
    program = Program("gridworld", "--speed", "200")
    try:
        with chromium() as browser:
            browser.get(program.address)
            soon(lambda: browser.execute_script("return !!(window.Bokeh && Bokeh.documents[0])"))
            yield browser
    finally:
        program.ends(15)


@pytest.mark.slow
@pytest.mark.skipif(NO_BROWSER, reason="Chromium with its driver is not installed")
def test_browser_shows_a_run_and_steers_it(browser: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

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
    time.sleep(0.3)  # by then, the value has reached the device
    click("step")
    frozen = table()
    soon(lambda: tile("steps of each agent") != after)
    assert table() == frozen  # with alpha 0, nothing is learned

    here = "return Bokeh.documents[0].get_model_by_name('here').data_source.data.x.length"
    assert browser.execute_script(here) == 0
    canvas = browser.execute_script(
        "return Bokeh.index.get_one(Bokeh.documents[0].get_model_by_name('table')).el"
    )
    ActionChains(browser).move_to_element(canvas).perform()
    soon(lambda: browser.execute_script(here) == 1)
    ActionChains(browser).move_to_element(handle).perform()
    soon(lambda: browser.execute_script(here) == 0)

    click("reset")
    soon(lambda: tile("steps of each agent") == "0")
    assert any(frozen)
    soon(lambda: model("alpha", "value") == 0.5)
    assert table() == [None] * 100  # nothing is learned
    assert requested_hosts(browser) == {"127.0.0.1"}
    complaints = [e for e in browser.get_log("browser") if e["level"] != "INFO"]
    assert complaints == []

    # Both checks detect a request to another host, which the page's own policy blocks.
    browser.execute_script("new Image().src = 'http://localhost:1/'")
    refused = soon(lambda: browser.get_log("browser"))
    assert "Content Security Policy" in refused[0]["message"]
    browser.get("about:blank")
    browser.execute_script("new Image().src = 'http://localhost:1/'")
    soon(lambda: "localhost" in requested_hosts(browser))


_VIEWS = """
const views = arguments[0].map(
  name => Bokeh.index.get_one(Bokeh.documents[0].get_model_by_name(name)));
"""
_RIGHT = _VIEWS + "return views.map(view => view.el.getBoundingClientRect().right);"
_CORNERS = (
    _VIEWS
    + """
return views.map(view => [...view.canvas_view.primary.canvas.getContext('2d')
  .getImageData(1, 1, 1, 1).data.slice(0, 3)]);
"""
)
_PAGE = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"


@pytest.mark.slow
@pytest.mark.skipif(NO_BROWSER, reason="Chromium with its driver is not installed")
def test_page_fits_a_phone_and_is_dark_where_it_should_be(browser: Any) -> None:
    soon(lambda: deep(browser, ".bk-Figure", "canvas"))
    text = browser.execute_script("return document.body.innerText")
    for part in ("agents", "agent whose table is shown", "not learned", "hole", "median"):
        assert part in text
    assert "wall" not in text  # this map has no walls
    for width in (1400, 480, 390):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        soon(lambda width=width: browser.execute_script("return innerWidth") == width)  # type: ignore[misc]
        time.sleep(0.3)
        parts = ["map", "returns", "values", "table", "play", "alpha", "epsilon"]
        widths = browser.execute_script(_RIGHT, parts)
        assert max(widths) <= width
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        if width == 1400:
            below = _VIEWS + "return views[0].el.getBoundingClientRect().bottom;"
            assert browser.execute_script(below, ["table"]) <= 1000  # without scrolling
    deep(browser, ".play", "button").click()
    shades = {}
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        time.sleep(1)  # by then, everything is redrawn, even if the run is paused
        corners = browser.execute_script(_CORNERS, ["map", "returns", "table"])
        shades[scheme] = [browser.execute_script(_PAGE), *corners]
    assert all(min(shade) > 200 for shade in shades["light"])
    assert all(max(shade) < 60 for shade in shades["dark"])
