"""`qstep export` and `qstep play` with a learned table."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tb.sw.command_line import invoke, ran, refused, told

import qstep
from qstep import World
from qstep.cli.export import to_c, to_csv, to_readmemh
from qstep.envs import GridWorld
from qstep.errors import EnvironmentSpaceError, FileFormatError, TableError
from qstep.learn.agents_result import AgentsResult
from qstep.learn.table import load_table, save_table
from qstep.spec.config import Config
from qstep.spec.fixed import QFormat
from qstep.spec.settings import Hyperparameters
from qstep_sim import verilator

pytestmark = pytest.mark.usefixtures("own_folder")

FORMATS = ("Q4.4", "Q5.8", "Q8.8", "Q8.16", "Q16.16")


def table(config: Config) -> NDArray[np.int32]:
    """Return a random table that includes both ends of the format."""
    low, high = config.format.minimum, config.format.maximum
    shape = (config.states, config.actions)
    q_raw = np.random.default_rng(0).integers(low, high, shape, dtype=np.int32, endpoint=True)
    q_raw[0, 0], q_raw[0, 1], q_raw[-1, -1] = low, high, -1
    return q_raw


def saved(name: str, config: Config) -> NDArray[np.int32]:
    save_table(name, table(config), config, Hyperparameters())
    return table(config)


@pytest.mark.parametrize("number_format", FORMATS)
def test_csv_holds_every_raw_value(number_format: str) -> None:
    config = Config(7, 3, format=QFormat.parse(number_format))
    text = to_csv(table(config), config)
    about, names, *lines = text.splitlines()
    assert about.startswith(f"# Q-table of QStep: 7 states x 3 actions, {number_format}: integers")
    assert names == "state,action_0,action_1,action_2"
    read = np.array([line.split(",") for line in lines], np.int64)
    assert (read[:, 0] == np.arange(7)).all()
    assert (read[:, 1:] == table(config)).all()


@pytest.mark.parametrize("number_format", FORMATS)
def test_memory_image_holds_every_raw_value_in_the_words_of_the_format(number_format: str) -> None:
    config = Config(7, 3, format=QFormat.parse(number_format))
    lines = to_readmemh(table(config), config).splitlines()
    assert f"{number_format}: integers of {config.format.width} bits" in lines[0]
    assert lines[1] == "// Word state * 3 + action."
    width = config.format.width
    words = [int(line, 16) for line in lines[2:]]
    assert {len(line) for line in lines[2:]} == {-(-width // 4)}
    values = [word - (1 << width) if word >> (width - 1) else word for word in words]
    assert values == table(config).reshape(-1).tolist()


def test_c_header_compiles_without_a_warning_to_every_raw_value() -> None:
    for number_format in FORMATS:
        config = Config(7, 3, format=QFormat.parse(number_format))
        Path("table.h").write_text(to_c(table(config), config), encoding="utf-8")
        Path("main.cpp").write_text(
            '#include "table.h"\n#include "table.h"\n#include <cstdio>\n'
            'int main() { std::printf("%zu %d\\n", sizeof **qstep_table, QSTEP_FRACTION_BITS);\n'
            "for (int s = 0; s < QSTEP_STATES; ++s) for (int a = 0; a < QSTEP_ACTIONS; ++a)\n"
            'std::printf("%ld\\n", long(qstep_table[s][a])); }\n',
            encoding="utf-8",
        )
        compiler = [*verilator.compiler(), "-Wall", "-Wextra", "-Werror", "main.cpp", "-o", "main"]
        subprocess.run(compiler, check=True)
        said = subprocess.run(["./main"], capture_output=True, text=True, check=True).stdout
        sizes, *values = said.splitlines()
        bits = config.format.width
        expected = 1 if bits <= 8 else 2 if bits <= 16 else 4
        assert sizes == f"{expected} {config.format.fraction}"
        assert list(map(int, values)) == table(config).reshape(-1).tolist()


@pytest.mark.parametrize(
    ("name", "write"), [("csv", to_csv), ("c", to_c), ("readmemh", to_readmemh)]
)
def test_export_writes_the_file(name: str, write: object) -> None:
    config = Config(25, 4)
    q_raw = saved("table.npz", config)
    result = ran(f"export table.npz --format {name} --out new/table.txt")
    assert result.stdout == "25 states x 4 actions, Q8.8: new/table.txt\n"
    assert Path("new/table.txt").read_text(encoding="utf-8") == write(q_raw, config)  # type: ignore[operator]


@pytest.fixture
def learnt() -> Path:
    ran("train gridworld --agents 2 --episodes 300 --out run")
    return Path("run/table.npz")


@pytest.fixture
def old() -> Path:
    """Save a table of 32 rows that names no world, as from earlier versions and `qstep replay`."""
    config, q_raw = Config(32, 4), np.zeros((32, 4), np.int32)
    q_raw[23] = 1
    save_table("old.npz", q_raw, config, Hyperparameters())
    return Path("old.npz")


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("export two/table.npz --format csv --out t.csv", TableError,
         "two/table.npz: holds the two tables of Double Q-learning"),
        ("export walk.npz --format csv --out t.csv", FileFormatError, "walk.npz"),
        ("export walk.npz --format yaml --out t.csv", SystemExit,
         "'yaml' is not one of 'csv', 'c', 'readmemh'"),
        ("play absent.npz", FileFormatError, "absent.npz"),
        ("play run/table.npz FrozenLake8x8-v1", EnvironmentSpaceError,
         "^FrozenLake8x8-v1 has 64 states and 4 actions; run/table.npz is a table of 25 states and 4 "
         "actions$"),
        ("play run/table.npz --agent 2", TableError,
         "^--agent is 2; run/table.npz has tables 0 to 1$"),
        ("play old.npz", TableError,
         "^old.npz: names no world; give the one in which it was learned: qstep play old.npz WORLD$"),
        ("play old.npz CliffWalking-v1", EnvironmentSpaceError,
         "old.npz is a table of 32 states and 4 actions"),  # this world has too many states
        ("play old.npz FrozenLake-v1", EnvironmentSpaceError,
         "old.npz is a table of 32 states and 4 actions"),  # and this one too few
    ],
)  # fmt: skip
def test_what_cannot_be_exported_or_played_is_refused(
    words: str, error: type[BaseException], text: str, old: Path, request: pytest.FixtureRequest
) -> None:
    if "run/" in words:
        request.getfixturevalue("learnt")
    if "two/" in words:
        invoke("train gridworld --agents 1 --steps 50 --algorithm double-q --out two")
    Path("walk.npz").write_bytes(b"nothing")
    refused(words, error, text)


def test_the_median_agent_is_exported_unless_another_is_named() -> None:
    result = qstep.train("gridworld", steps=60, agents=4)
    assert isinstance(result, AgentsResult)
    assert result.median_agent != 0
    result.save("run")
    written = {}
    for agent in ("", "--agent 0", f"--agent {result.median_agent}"):
        ran(f"export run/table.npz --format csv --out table.csv {agent}")
        written[agent] = Path("table.csv").read_text("utf-8")
        Path("table.csv").unlink()
    median, first, named = written.values()
    assert median == named != first


def test_play_scores_the_greedy_policy_and_shows_it(learnt: Path) -> None:
    result = ran(f"play {learnt} --watch --delay 0 --episodes 10")
    *shown, end, score = result.stdout.splitlines()
    assert score == ("gridworld: 10 greedy episodes, mean return -6.00, success 100%, length 8.0")
    assert end == "terminated in state 24 after 8 steps, return -6"
    walked = [int(found[1]) for line in shown if (found := re.match(r"state (\d+), ", line))]
    drawn = [position for position, line in enumerate(shown) if "@" in line]
    assert walked[0] == 0
    assert len(walked) == len(drawn) == 8
    # A map has five rows, followed by a line about the step.
    for step, (state, line) in enumerate(zip(walked, drawn, strict=True)):
        assert line - 6 * step == state // 5
        assert shown[line].index("@") == state % 5


def test_play_says_the_same_as_json_and_keeps_the_show_apart(learnt: Path) -> None:
    result = invoke(f"play {learnt} gridworld --watch --delay 0 --episodes 10 --json")
    report = json.loads(result.stdout)
    assert (report["mean_return"], report["success"], report["mean_length"]) == (-6.0, 1.0, 8.0)
    assert "@" in result.stderr
    untrained = Config(25, 4)
    save_table("zeros.npz", np.zeros((25, 4), np.int32), untrained, Hyperparameters())
    assert not load_table("zeros.npz", untrained).q_raw.any()
    report = told("play zeros.npz gridworld --episodes 3")
    assert (report["success"], report["mean_return"]) == (0.0, -100.0)


def test_play_takes_a_table_of_another_world_without_a_goal_or_a_picture(
    learnt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GridWorld, "metadata", {"render_modes": []})
    shown = invoke(f"play {learnt} --watch --delay 0 --episodes 3 --agent 1").stdout.splitlines()
    assert shown[0].startswith("state 0, action ")
    assert len(shown) == 8 + 2  # the steps, the outcome and the score
    config = Config(2048, 3)
    save_table("snake.npz", np.zeros((2048, 3), np.int32), config, Hyperparameters())
    scored = invoke("play snake.npz snake --episodes 3")
    assert "snake: 3 greedy episodes, mean return" in scored.stdout
    assert "success" not in scored.stdout


@pytest.mark.parametrize("act", ["device", "host"])
def test_play_takes_a_map_and_a_world_file_that_train_took(act: str) -> None:
    Path("mine.TXT").write_text("S..\n.#G\n", encoding="utf-16")
    World.named("mine.TXT").save("mine.NPZ")
    for world in ("mine.TXT", "mine.NPZ"):
        ran(f"train {world} --act {act} --episodes 300 --out {act} --overwrite")
        words = f"play {act}/table.npz {world} --episodes 5 --watch --delay 0"
        assert invoke(words).stdout.splitlines()[-2:] == [
            "terminated in state 5 after 3 steps, return -1",
            f"{world}: 5 greedy episodes, mean return -1.00, success 100%, length 3.0",
        ]


@pytest.mark.parametrize("act", ["device", "host"])
@pytest.mark.parametrize("name", ["gridworld-8x8", "own.txt", "own.npz", "FrozenLake-v1"])
def test_play_takes_the_world_that_the_table_was_learnt_in(name: str, act: str) -> None:
    Path("own.txt").write_text("S..\n.HG\n", encoding="utf-8")
    World.named("own.txt").save("own.npz")
    ran(f"train {name} --act {act} --episodes 20 --out run")
    by_default = invoke("play run/table.npz --episodes 5").stdout
    assert by_default.startswith(f"{name}: 5 greedy episodes")
    assert invoke(f"play run/table.npz {name} --episodes 5").stdout == by_default
    refused = invoke("play run/table.npz gridworld").exception
    assert isinstance(refused, EnvironmentSpaceError)
    assert "gridworld has 25 states and 4 actions; run/table.npz is a table of" in str(refused)


def test_play_refuses_a_world_that_is_not_the_one_of_the_table() -> None:
    board = Path("own.txt")
    board.write_text("S..\n.HG\n", encoding="utf-8")
    Path("copy.txt").write_bytes(board.read_bytes())
    ran("train own.txt --episodes 20 --max-episode-steps 7 --out run")
    ran("play run/table.npz")  # another step limit is not another world
    board.write_text("S.H\n..G\n", encoding="utf-8")
    changed = (
        "^run/table.npz: own.txt has changed since the table was learned in it; train it again$"
    )
    refused("play run/table.npz", TableError, changed)
    refused("play run/table.npz own.txt", TableError, changed)
    board.rename("other.txt")
    refused(
        "play run/table.npz other.txt",
        TableError,
        "^run/table.npz: the table was learned in own.txt; other.txt is another world of the same size: "
        "train a table in it$",
    )
    assert ran("play run/table.npz copy.txt").stdout.startswith("copy.txt: 100 greedy episodes")


def test_play_compares_the_arguments_of_the_environment() -> None:
    ran("train FrozenLake-v1 --steps 2000 --env-kwargs is_slippery=false --out run")
    scored = ran("play run/table.npz --episodes 3").stdout
    for words in ("FrozenLake-v1", "--env-kwargs is_slippery=false"):
        assert ran(f"play run/table.npz {words} --episodes 3").stdout == scored
    refused(
        "play run/table.npz --env-kwargs is_slippery=true",
        TableError,
        "the table was learned in FrozenLake-v1 is_slippery=False; FrozenLake-v1 is_slippery=True is "
        "another world of the same size",
    )


def test_play_takes_the_world_of_a_table_that_names_none(old: Path) -> None:
    assert invoke(f"play {old} gridworld --episodes 2").exit_code == 0
