"""A board's clock is exactly the requested one, not the nearest one that its PLL can make."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from qstep.errors import BuildError
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep_fpga import pll
from qstep_fpga.board import Board, load, names
from qstep_fpga.netlist import synthesise

SAID = {
    "icebreaker": """\
 * Given input frequency:        12.000 MHz
 * Requested output frequency:   43.700 MHz
 * Achieved output frequency:    {} MHz
""",
    "ulx3s-12f": """\
    input clock_in, // 25 MHz, 0 deg
    output clock_out, // {0} MHz, 0 deg
(* FREQUENCY_PIN_CLKI="25" *)
(* FREQUENCY_PIN_CLKOP="{0}" *)
""",
    "tang-nano-9k": """\
 * Given input frequency:        27.000 MHz
 * Requested output frequency:   50.000 MHz
 * Achieved output frequency:    {} MHz
""",
}
"""Output lines with clock rates, as written by icepll, ecppll and gowin_pll."""


def at(board: Board, clock_hz: int) -> Config:
    return replace(board.config, link=Link(clock_hz=clock_hz, baud=1_000_000))


@pytest.mark.parametrize(
    ("name", "asked", "made", "message"),
    [
        ("icebreaker", 43_700_000, "43.500",
         "43.5 MHz of its 12 MHz, where .* for 43.7 MHz; .* link.clock_hz = 43_500_000$"),
        ("icebreaker", 45_001_000, "45.000", "45 MHz of its 12 MHz, where .* for 45.001 MHz"),
        ("ulx3s-12f", 97_000_000, "96.875", "96.875 MHz of its 25 MHz, where .* for 97 MHz"),
        ("tang-nano-9k", 50_000_000, "50.143", "50.143 MHz of its 27 MHz, where .* for 50 MHz"),
        ("icebreaker", 47_250_000, "47.250", ""),
        ("ulx3s-12f", 90_000_000, "90", ""),
        ("ulx3s-12f", 103_125_000, "103.125", ""),
        ("tang-nano-9k", 50_142_857, "50.143", ""),  # 27 * 13 / 7, rounded twice
    ],
)  # fmt: skip
def test_another_rate_is_refused(name: str, asked: int, made: str, message: str) -> None:
    board = load(name)
    said = f"the PLL of {board.title} makes {message}"
    with pytest.raises(BuildError, match=said) if message else nullcontext():
        pll.check_rates(board, at(board, asked), SAID[name].format(made))


TWO_RATES = """\
    output clock_out, // {} MHz, 0 deg
    output lanes_out, // {} MHz, 0 deg
"""


def with_lanes_at(name: str, lanes_hz: int) -> tuple[Board, Config]:
    board = load(name)
    link = Link(clock_hz=90_000_000, baud=1_000_000)
    return board, replace(board.config, link=link, acting=Acting(clock_hz=lanes_hz))


def test_a_second_clock_is_the_one_that_was_asked_for() -> None:
    board, config = with_lanes_at("ulx3s-85f", 180_000_000)
    pll.check_rates(board, config, TWO_RATES.format(90, 180))
    other = r"210 MHz .* acting.clock_hz asks for 180 .* = 210_000_000"
    with pytest.raises(BuildError, match=other):
        pll.check_rates(board, config, TWO_RATES.format(90, 210))
    message = "acting.clock_hz is 180000000; the PLL of .* generates one clock.*: leave it out"
    with pytest.raises(BuildError, match=message):
        pll.pll_command(*with_lanes_at("tang-nano-20k", 180_000_000))
    # The faster clock comes first: the PLL runs at a multiple of it, which the slower clock divides
    # more often.
    words = " ".join(pll.pll_command(board, config))
    assert "--clkout0_name lanes_out -i 25 -o 180 --clkout1_name clock_out --clkout1 90 " in words


@pytest.mark.synth
def test_an_ice40_makes_the_lanes_clock_and_hands_on_its_oscillators(tmp_path: Path) -> None:
    board, config = with_lanes_at("icebreaker", 60_000_000)
    with pytest.raises(BuildError, match=r"makes 12 MHz .* link.clock_hz .* 90 MHz.* = 12_000_000"):
        pll.make(board, config, tmp_path)
    pll.make(board, replace(config, link=Link(clock_hz=12_000_000, baud=1_000_000)), tmp_path)
    written = (tmp_path / pll.PLL).read_text(encoding="utf-8")
    assert "SB_PLL40_2_PAD #(" in written
    assert ".PLLOUTGLOBALA(clock_out)" in written
    assert ".PLLOUTGLOBALB(lanes_out)" in written


@pytest.mark.parametrize("name", SAID)
def test_a_tool_that_does_not_say_its_rate_is_not_believed(name: str) -> None:
    board = load(name)
    with pytest.raises(BuildError, match=r"PLL generator for .* does not report the rate"):
        pll.check_rates(board, board.config, "module pll;")


@pytest.mark.synth
@pytest.mark.parametrize("name", names())
def test_boards_get_the_clock_that_their_files_name(name: str, tmp_path: Path) -> None:
    board = load(name)
    pll.make(board, board.config, tmp_path)


@pytest.mark.slow
@pytest.mark.synth
@pytest.mark.parametrize(
    ("name", "asked", "made"),
    [
        ("icebreaker", 47_000_000, "47.25"),
        ("ulx3s-12f", 97_000_000, "96.875"),
        ("tang-nano-9k", 50_000_000, "50.143"),
    ],
)
def test_a_build_at_a_rate_that_the_pll_cannot_make_is_refused(
    name: str, asked: int, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path))
    board = load(name)
    with pytest.raises(BuildError, match=f"makes {made} MHz"):
        synthesise(board, at(board, asked))
