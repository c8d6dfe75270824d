"""A board file is read completely or refused with a reason."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from qstep import Acting, Config, World
from qstep.errors import BuildError, ConfigError
from qstep.spec.agents import LANE_AGENTS
from qstep_fpga.board import Board, load, names
from qstep_fpga.families import FAMILIES
from qstep_fpga.netlist import files_around
from qstep_fpga.pin_wrapper import around_acting, around_device, around_lane
from qstep_fpga.pins import led_bits, led_out, pins_text, ports

STREAMING = ["icebreaker", "tang-nano-20k", "tang-nano-9k", "ulx3s-12f", "ulx3s-85f"]
FARMS = ["tang-nano-20k-farm", "tang-nano-9k-farm", "ulx3s-12f-farm", "ulx3s-85f-farm"]
PLANES = [
    *("tang-nano-20k-cartpole", "ulx3s-12f-cartpole"),
    *("ulx3s-85f-cartpole", "ulx3s-85f-cartpole-farm"),
]
BOARDS = [load(name) for name in names()]
TEXT = (Path(load.__code__.co_filename).parent / "boards/icebreaker.toml").read_text("utf-8")


def test_the_promised_boards_are_there_and_no_other() -> None:
    agents = [f"{name}-agents" for name in STREAMING]
    assert names() == sorted([*STREAMING, *agents, *FARMS, *PLANES])
    said = "board is 'arty'; known boards: icebreaker, icebreaker-agents"
    with pytest.raises(ConfigError, match=said):
        load("arty")


def write(folder: Path, text: str) -> None:
    (folder / "mine.toml").write_text(text, encoding="utf-8")


def test_a_new_board_is_one_file(tmp_path: Path) -> None:
    write(tmp_path, TEXT)
    board = load("mine", tmp_path)
    assert board.name == "mine"
    assert board.config == load("icebreaker").config


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'title = "iCEBreaker"',
            'titel = "x"',
            "unknown field 'titel'; known fields: board, title",
        ),
        (
            'rx = { at = "6", pull = "up" }',
            "",
            "pins are button, clock, led, tx; they must be clock, rx, tx, and may include led, button",
        ),
        ("states = 64", "states = 1", "states is 1; it must be an integer from 2 to 65536"),
        ('tx = { at = "9" }', 'tx = { ball = "9" }', "unexpected keyword argument 'ball'"),
        (
            "[pins]",
            '[pins]\nreset = { at = "2" }',
            "pins are button, clock, led, reset, rx, tx; they",
        ),
        (
            "[pins]",
            'link = "usb.v"\n[pins]',
            r"link is 'usb\.v'; it was not found next to mine\.toml",
        ),
        (
            'at = "9"',
            'at = "9", direction = "up"',
            r"pins\.tx\.direction is 'up'; it must be in, out, inout",
        ),
        (TEXT[TEXT.index("[config]") :], "", "config is missing"),
        ('part = "iCE40UP5K-SG48"', "", "missing 1 required positional argument: 'part'"),
        ("clock_hz = 12_000_000", "clock_hz = ", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    write(tmp_path, TEXT.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        load("mine", tmp_path)


def test_a_board_needs_neither_button_nor_led_nor_a_uart(tmp_path: Path) -> None:
    pins = "".join(f"{name} = {{ {line} }}\n" for name, line in LINKED.items())
    start, end = TEXT.index("[pins]"), TEXT.index("[config]")
    write(tmp_path, f'{TEXT[:start]}link = "usb.v"\n[pins]\n{pins}{TEXT[end:]}')
    (tmp_path / "usb.v").write_text("module qs_link (); endmodule", encoding="utf-8")
    board = load("mine", tmp_path)
    assert (board.link, list(board.pins)) == (tmp_path / "usb.v", list(LINKED))
    assert files_around(board, board.config) == [tmp_path / "usb.v"]
    module = around(board)
    assert "cell \\qstep_device" in module
    for way, pin in (("inout", "usb_dp"), ("input", "sense"), ("output", "pull")):
        assert re.search(rf"wire width 1 {way} \d+ +\\{pin}\n", module)
    with pytest.raises(
        BuildError, match="no pin rx, tx, button; a standalone lane needs rx, tx and but"
    ):
        around_lane(board, {})


LINKED = {
    "clock": 'at = "35"',
    "usb_dp": 'at = "1", direction = "inout"',
    "sense": 'at = "2"',
    "pull": 'at = "3", direction = "out"',
}


@pytest.mark.parametrize("name", STREAMING)
def test_each_board_has_a_second_design_with_agents_and_room_for_a_world(name: str) -> None:
    base, agents = load(name), load(f"{name}-agents")
    assert agents == replace(base, name=f"{name}-agents", config=agents.config)
    assert base.config.acting is None
    assert agents.config.acting is not None
    fits = ["gridworld"] if name == "icebreaker" else ["gridworld", "FrozenLake-v1"]
    for world in map(World.named, fits):
        assert world.table(agents.config).split.shape[:2] == (32, 4)


@pytest.mark.parametrize("name", FARMS)
def test_a_farm_has_full_lanes_and_room_for_a_world(name: str) -> None:
    base, farm = load(name.removesuffix("-farm")), load(name)
    assert farm == replace(base, name=name, config=farm.config)
    acting = farm.config.acting
    assert acting is not None
    assert acting.agents == LANE_AGENTS * farm.config.lanes
    lanes_are_faster = farm.config.lane_clock_hz > farm.config.link.clock_hz
    assert lanes_are_faster == (base.family != "gowin")  # its PLL makes only one clock
    world = World.named("gridworld").limited(0).table(farm.config)
    assert world.split.shape[:2] == (farm.config.states, 4)


def test_boards_that_differ_in_the_chip_alone_say_the_rest_once() -> None:
    small, large = load("ulx3s-12f"), load("ulx3s-85f")
    assert large == replace(
        small, name="ulx3s-85f", title="ULX3S 85F", part="LFE5U-85F-6BG381C", device="85k"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'board = "mine"\ntitel = "x"',
            r"other\.toml: unknown field 'titel'; known fields: board, title",
        ),
        ('board = "mine"\n[pins]', "pins are ; they must be clock"),
        ('board = "mine"\n[config]\nstates = 8', "actions is missing"),
        ('board = "other"', "board is 'other', which itself inherits from 'other'"),
        ('board = "back"', r"back\.toml: board is 'other', which itself inherits from 'back'"),
        ('board = "arty"', r"arty\.toml: is not TOML: .*No such file"),
    ],
)
def test_a_wrong_design_is_refused(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, TEXT)
    (tmp_path / "other.toml").write_text(text, encoding="utf-8")
    (tmp_path / "back.toml").write_text('board = "other"', encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load("other", tmp_path)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_port_has_its_own_pin(board: Board) -> None:
    pins = [pin.at for _, pin in ports(board)]
    assert len(set(pins)) == len(pins)
    constraints = FAMILIES[board.family].constraints(board)
    for port, pin in ports(board):
        assert re.search(rf"wire width 1 (in|out)put \d+ +\\{port}\n", around(board))
        assert any(port in line and pin.at in line for line in constraints.splitlines())


def around(board: Board) -> str:
    return around_device(board, board.config)


@pytest.mark.parametrize(("name", "number"), [("ulx3s-85f", "Q5.11"), ("icebreaker", "Q4.4")])
def test_each_bit_of_a_world_at_pins_has_a_pin_of_the_header(name: str, number: str) -> None:
    config = Config(8, 4, number, acting=Acting(world="pins"))
    board = led_out(load(name), config)
    led = [line.split() for line in pins_text(board, config).splitlines()]
    assert sum(led_bits(config).values()) == 3 * 3 + 2 + config.format.width + 3 == len(led)
    assert led[:3] == [
        ["action_valid0", board.header[0]],
        *[[f"action_state{n}", board.header[n + 1]] for n in (0, 1)],
    ]
    assert [at for _, at in led] == list(board.header[: len(led)])
    assert len({pin.at for _, pin in ports(board)}) == len(ports(board))
    module, constraints = around_device(board, config), FAMILIES[board.family].constraints(board)
    for port, at in led:
        flow = "output" if port.startswith("action") else "input"
        assert re.search(rf"wire width 1 {flow} \d+ +\\{port}\n", module)
        lines = [line for line in constraints.splitlines() if at in line]
        assert any(port in line.split('"') + line.split() for line in lines)
    words = {"start_state": 3, "answer_terminated": 1, "answer_next_state": 3}
    bits = [f"\\{word}{bit} [0]" for word, width in words.items() for bit in reversed(range(width))]
    assert f"connect \\pin_answer_i {{ {' '.join(bits)} \\answer_reward" in module


def test_families_differ_in_clocks_that_are_told_in_limits_of_blocks_and_in_plls() -> None:
    ice40, gowin = FAMILIES["ice40"], FAMILIES["gowin"]
    board = load("icebreaker")
    both = ["set_frequency clk 12", "set_frequency lanes_clk 48"]
    assert ice40.constraints(board, 48_000_000).splitlines()[:2] == both
    assert "set_frequency" not in ice40.constraints(board)
    assert "clk" not in gowin.constraints(load("tang-nano-9k"), 48_000_000)
    for name in ("icebreaker", "tang-nano-9k"):
        assert FAMILIES[load(name).family].limits(load(name), Path("unread")) == {}
    text = "SB_PLL40_PAD pll (.PACKAGEPIN(clock));"
    assert gowin.with_lanes(text) == text


def test_what_is_around_a_device_or_a_lane_of_agents_is_between_the_pins_of_a_board() -> None:
    module = around_acting(load("icebreaker"))
    for line in ("cell \\qs_acting_wrapper \\u_wrapper", "connect \\load_i \\button [0]"):
        assert line in module
    assert "connect \\led 1'0" in module
    for name, high in (("icebreaker", False), ("ulx3s-12f", True)):  # some pins are driven high
        assert ("connect \\high0 1'1" in around(load(name))) == high


def test_only_a_world_at_pins_is_led_out() -> None:
    board = load("ulx3s-85f")
    assert led_out(board, board.config) is board
    assert led_bits(load("ulx3s-85f-agents").config) == {}


def test_the_board_of_the_documentation_is_complete(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/boards.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    write(tmp_path, example)
    assert load("mine", tmp_path).title == "OrangeCrab 25F"
