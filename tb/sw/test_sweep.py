"""A sweep learns at each point what `qstep.train` learns, ranks the points, and loses no result."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.sw.command_line import ran, refused, told

import qstep
from qstep._io.workers import Here, Processes
from qstep.errors import (
    CheckpointError,
    ConfigError,
    EnvironmentSpaceError,
    FileFormatError,
    NoTableError,
    WorldError,
)
from qstep.learn.agents_result import AgentsResult
from qstep.learn.sweep import Sweep
from qstep.learn.sweep_plan import SweepOptions, SweepPlan
from qstep.learn.sweep_result import SweepResult
from qstep.mdp.world import World
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config, Link
from qstep.spec.discount import differs
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.random import first_word, seed_as_first
from qstep.spec.settings import AgentSettings

LAST = (1 << 64) - 1


def planned(world: World | str, **options: Any) -> SweepPlan:
    return SweepOptions(**options).plan(world)


def small(world: str = "gridworld", **options: Any) -> SweepPlan:
    return planned(world, **{"gammas": [0.9], "seeds": [0, 1], "steps": 1000, **options})


def made(plan: SweepPlan, **given: Any) -> SweepResult:
    sweep = Sweep(plan, **{"workers": Here(), **given})
    for _ in sweep:
        pass
    return sweep.result()


def same(left: SweepResult, right: SweepResult) -> bool:
    """Return whether two results are equal; NaNs count as equal."""
    curves = [result.history["evaluations"] for result in (left, right)]
    return left.by_seed == right.by_seed and all(
        np.array_equal(curves[0][name], curves[1][name], equal_nan=True) for name in curves[0]
    )


@pytest.mark.parametrize("seed", [0, 7, LAST])
@pytest.mark.parametrize("agent", [0, 1, 255])
def test_any_agent_can_draw_what_the_first_one_draws(seed: int, agent: int) -> None:
    assert first_word(seed_as_first(seed, agent), agent) == first_word(seed, 0)
    assert agent == 0 or first_word(seed, agent) != first_word(seed, 0)


def test_each_point_is_what_train_learns_alone() -> None:
    plan = small(
        alphas=[0.1, 1],
        epsilons=[0.2, Epsilon(1, 0.05, "linear", 500)],
        algorithms=["q-learning", "double-q"],
        formats=["Q4.6", "Q6.10"],
        seeds=[3, LAST],
        rounding="stochastic",
    )
    result = made(plan)
    assert len(plan.points) == 16
    curves = result.history["evaluations"]
    for number, point in enumerate(plan.points):
        for place, seed in enumerate(plan.seeds):
            learned = result.by_seed[number][place]
            alone = qstep.train(
                "gridworld",
                steps=1000,
                agents=1,
                algorithm=point.algorithm,
                settings=AgentSettings(point.alpha, point.gamma, point.epsilon, seed),
                number_format=point.format,
                rounding="stochastic",
            )
            assert isinstance(alone, AgentsResult)
            raw = alone.table.astype("<i4").tobytes()
            assert learned["table_sha256"] == hashlib.sha256(raw).hexdigest()
            for name, column in alone.history["evaluations"].items():
                if name in ("episode_return", "greedy_value"):
                    own = curves[name][:, number, place]
                    assert np.array_equal(own, column[:, 0], equal_nan=True)
            assert np.array_equal(curves["steps"], alone.history["evaluations"]["steps"])
            report = alone.summary()
            assert [learned["optimum"]] == report["optimum"]
            assert [learned["near_after"]] == report["near_after"]
            assert learned["return_sum"] == alone.config.format.to_float(
                np.array(alone.counters[0].return_sum)
            )
            for name in ("greedy_return", "greedy_success", "greedy_length", "terminations",
                         "truncations", "saturations"):  # fmt: skip
                assert learned[name] == report[name]
    digests = {learned["table_sha256"] for row in result.by_seed for learned in row}
    assert len(digests) == 32


@pytest.mark.rtl
@pytest.mark.slow
def test_sweep_on_simulated_hardware_equals_the_model() -> None:
    # This is the hardware of test_agents_sim, so it is compiled only once. Five agents leave one run
    # partly empty.
    acting = Acting(agents=3, algorithm=Algorithm.DOUBLE_Q_LEARNING, outcomes=2, starts=2)
    config = Config(
        *(25, 3, "Q6.10"), rounding=Rounding.STOCHASTIC, acting=acting, link=Link(buffer_bytes=512)
    )
    states, actions = np.divmod(np.arange(75), 3)
    world = World.from_arrays(
        state=states,
        action=actions,
        next_state=(states + actions + 1) % 25,
        reward=np.where(states == 24, 1.0, -0.25),
        terminated=states == 24,
        start_state=[0, 5],
        max_episode_steps=40,
    )
    given: dict[str, Any] = {"alphas": [0.1, 0.3, 0.5, 0.7, 1], "gammas": [0.9], "seeds": [9]}
    plan = planned(world, steps=400, config=config, **given)
    model = made(plan)
    assert same(made(plan, device="sim"), model)
    assert not same(made(planned(world, steps=399, config=config, **given)), model)
    farm = replace(config, acting=replace(acting, agents=4), lanes=2)
    assert same(made(planned(world, steps=400, config=farm, **given)), model)
    said = r"formats is \['Q8.8'\]; the device of config is built with Q6.10"
    with pytest.raises(ConfigError, match=said):
        planned(world, config=config, formats=["Q8.8"])
    with pytest.raises(ConfigError, match="agents is 4; it must be 3"):
        Sweep(plan, "sim", agents=4)
    shared = replace(config, acting=replace(acting, shared_table=True))
    said = "a sweep needs agents with separate tables, in worlds from tables"
    with pytest.raises(ConfigError, match=said):
        planned(world, config=shared)


def test_an_interrupted_sweep_goes_on_to_the_result_of_other_processes() -> None:
    plan = small(alphas=[0.1, 0.5], algorithms=["q-learning", "sarsa"])
    sweep = Sweep(plan, workers=Here())

    for _ in sweep:
        if sweep.done >= 3:
            break
    assert 0 < sweep.done < 8
    rest = Sweep(plan, workers=Here())
    rest.open(sweep.checkpoint)
    counts = [rest.done for _ in rest]
    assert counts[0] > sweep.done
    assert same(rest.result(), made(plan, workers=Processes(2)))


@pytest.mark.parametrize(
    ("part", "name", "text"),
    [
        ("head", "by_seed", "the checkpoint has no 'by_seed'"),
        ("arrays", "greedy_value", r"has no 'greedy_value'"),
        ("arrays", "episode_return",
         r"episode_return of the checkpoint is float64 of shape \[1, 1, 2\]; it must be"),
    ],
)  # fmt: skip
def test_a_checkpoint_that_holds_no_sweep_is_refused(part: str, name: str, text: str) -> None:
    plan = small(alphas=[0.5])
    sweep = Sweep(plan, workers=Here())
    for _ in sweep:
        pass
    parts = getattr(sweep.checkpoint, part)
    wrong = {key: value for key, value in parts.items() if key != name}
    if name == "episode_return":
        wrong[name] = parts[name][:1]
    fresh = Sweep(plan, workers=Here())
    with pytest.raises(CheckpointError, match=text):
        fresh.open(replace(sweep.checkpoint, **{part: wrong}))
    assert not fresh.done


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"alphas": [0.5, 1.5]}, ConfigError, r"alpha is 1\.5; it must be from 0 to 1"),
        ({"alphas": [1e-9]}, ConfigError, "alpha is 1e-09, which is rounded to 0 with 15"),
        ({"world": "CartPole-v1", "alphas": [1e-6]}, ConfigError,
         "alpha is 1e-06, 1.25e-07 in each of 8 planes; .* 0, or from 1.52588e-05 to 1$"),
        ({"alphas": []}, ConfigError, "alphas is empty; it must have at least one value"),
        ({"alphas": 0.5}, ConfigError, r"alphas is 0\.5; it must be a list of values"),
        ({"gammas": [-1]}, ConfigError, "gamma is -1; it must be from 0 to 1"),
        ({"epsilons": [2]}, ConfigError, "epsilon start is 2; it must be from 0 to 1"),
        ({"algorithms": ["dqn"]}, ConfigError, "algorithm is 'dqn'; it must be one of q-learning"),
        ({"algorithms": "sarsa"}, ConfigError, "algorithms is 'sarsa'; it must be a list"),
        ({"formats": ["8.8"]}, ConfigError, "format is '8.8'; write it as Qm.F"),
        ({"formats": ["Q2.6"]}, WorldError, "Q2.6 holds -2 to 1.98"),
        ({"seeds": [-1]}, ConfigError, "seed is -1; it must be an integer from 0 to 2.64-1"),
        ({"steps": 0}, ConfigError, "steps is 0; it must be an integer from 1"),
        ({"rounding": "up"}, ConfigError, "rounding is 'up'; it must be one of"),
        ({"random": 0}, ConfigError, "random is 0; it must be an integer from 1"),
        ({"random": 2, "alphas": [0, 1]}, ConfigError, "alphas must be above 0 and gammas below 1"),
        ({"random": 2, "gammas": [0.5, 1]}, ConfigError, "largest gamma is 1; for random points"),
        ({"seeds": range(2049), "alphas": [n / 512 for n in range(512)]}, ConfigError,
         "points times seeds, is 1049088"),
        ({"world": "snake"}, NoTableError, "snake"),
        ({"agents": 2049}, ConfigError, "agents is 2049; it must be an integer from 1 to 2048"),
    ],
)  # fmt: skip
def test_bad_values_are_refused(given: dict[str, Any], error: type[Exception], text: str) -> None:
    agents = given.pop("agents", None)
    with pytest.raises(error, match=text):
        Sweep(small(**given), "sim", agents=agents)


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("--alpha a", SystemExit, "'a' is not a list of numbers such as 0.1,0.5"),
        ("--alpha=", SystemExit, "'' is not a list of numbers such as 0.1,0.5"),
        ("--seeds 0", SystemExit, "0 is not in the range 1<=x<=1000"),
        ("--epsilon-end 1.5", ConfigError, "epsilon end is 1.5; it must be from 0 to 1"),
    ],
)
@pytest.mark.usefixtures("own_folder")
def test_bad_options_are_refused(words: str, error: type[BaseException], text: str) -> None:
    refused(f"sweep gridworld {words} --out new/s", error, text)
    assert not Path("new").exists()


def test_drawn_points_are_in_range_and_those_of_their_seed() -> None:
    given: dict[str, Any] = {"alphas": [0.01, 1], "gammas": [0.8, 0.999], "random": 200}

    def drawn(seed: int) -> SweepPlan:
        return small(**given, formats=["Q4.6", "Q6.10"], random_seed=seed)

    plan = drawn(0)
    alphas = [point.alpha for point in plan.points]
    gammas = [point.gamma for point in plan.points]
    assert 0.01 <= min(alphas) < 0.02
    assert 0.5 < max(alphas) <= 1
    assert 0.8 <= min(gammas) < 0.85
    assert 0.998 < max(gammas) <= 0.999
    assert abs(np.median(alphas) - 0.1) < 0.05  # evenly on a logarithmic scale
    assert not any(differs(point.alpha, point.gamma) for point in plan.points)
    assert {str(point.format) for point in plan.points} == {"Q4.6", "Q6.10"}
    assert plan.points == drawn(0).points
    assert plan.points != drawn(1).points


def test_points_rank_by_return_then_by_how_soon_they_were_near() -> None:
    def learnt(total: float, near: int | None) -> dict[str, Any]:
        found = {"greedy_return": total, "greedy_success": total, "near_after": near}
        return {**found, "optimum": 1.0, "saturations": 0}

    plan = small(alphas=[0.1, 0.2, 0.3, 0.4])
    rows = (
        (learnt(0.5, 100), learnt(0.6, 100)),
        (learnt(0.7, 300), learnt(0.7, 300)),
        (learnt(0.7, 200), learnt(0.7 + 1e-12, 300)),
        (learnt(0.7, 200), learnt(0.7, None)),
    )
    result = SweepResult("lake", "model", plan, rows, {}, 1.0, 1, {})
    assert result.ranking == (1, 2, 3, 0)
    score = result.points[0]
    assert [score[name] for name in ("greedy_return", "worst", "best")] == [0.55, 0.5, 0.6]
    assert [own["near_agents"] for own in result.points] == [2, 2, 2, 1]
    assert [own["near_after"] for own in result.points] == [100, 300, 300, None]
    assert result.best.alpha == 0.2
    assert [own["number"] for own in result.summary()["points"]] == [1, 2, 3, 0]


WORDS = "gridworld --alpha 0.1,0.5 --gamma 0.9 --algorithm q-learning,sarsa --steps 1000 --seeds 2"


def swept(words: str, folder: Path) -> str:
    """Run the command, check that it writes its pictures, and return its output."""
    said = ran(f"sweep {words} --jobs 1 --out", folder).stdout
    for name in ("heat_map", "learning_curves"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return said


def test_the_command_writes_pictures_and_json_and_train_repeats_the_best(tmp_path: Path) -> None:
    said = swept(WORDS, tmp_path / "sweep")
    tree = json.loads((tmp_path / "sweep/report.json").read_text(encoding="utf-8"))
    assert len(tree["points"]) == 4
    best = tree["points"][0]
    (line,) = [line for line in said.splitlines() if line.startswith("train the best: ")]
    *_, after = line.partition("qstep ")
    ran(after, "--out", tmp_path / "run")
    table = np.load(tmp_path / "run" / "table.npz")["q_raw"]
    digest = hashlib.sha256(table.astype("<i4").tobytes()).hexdigest()
    assert digest == best["by_seed"][0]["table_sha256"]
    assert "million steps/s" in said
    assert "million steps/s" not in swept(f"{WORDS} --resume", tmp_path / "sweep")


def test_values_of_an_axis_are_told_in_words() -> None:
    falling = Epsilon(1, 0.05, "linear", 1500), Epsilon(1, 0.05, "exponential", 20, "episodes")
    plan = small(alphas=[0.5], epsilons=[0.2, *falling], algorithms=["sarsa"], formats=["Q4.6"])
    assert [point.words("epsilon") for point in plan.points] == [
        "0.2",
        "1 to 0.05 in 1,500 steps",
        "1 to 0.05 exponentially in 20 episodes",
    ]
    words = [plan.points[0].words(axis) for axis in ("alpha", "gamma", "algorithm", "format")]
    assert words == ["0.5", "0.9", "sarsa", "Q4.6"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "--random 3 --alpha 0.1,1 --gamma 0.8,0.9 --format Q4.6,Q4.8",
        "--random 3 --alpha 0.5 --gamma 0.9 --algorithm q-learning,sarsa --format Q4.6,Q4.8",
        "--alpha 0.1,0.5 --gamma 1 --format Q4.8",
        "--alpha 0.001,0.002 --gamma 0.9 --format Q4.12",
        "--random 3 --alpha 0.001,0.002 --gamma 0.9 --format Q4.12",
    ],
    ids=["drawn", "drawn-by-name", "without-optimum", "never-near", "drawn-never-near"],
)
def test_points_of_any_kind_are_pictured(words: str, tmp_path: Path) -> None:
    swept(f"gridworld {words} --steps 500 --seeds 1", tmp_path / "s")


@pytest.mark.parametrize(
    ("words", "epsilon"),
    [
        ("--epsilon-share 0", Epsilon(0.05)),
        # In floating point, 29/100 times 100 is below 29, so the next larger number is needed.
        ("--epsilon-share 0.295", Epsilon(1, 0.05, "linear", 29)),
    ],
)
def test_train_repeats_the_best_epsilon(words: str, epsilon: Epsilon, tmp_path: Path) -> None:
    words = f"gridworld --alpha 0.5 --gamma 0.9 --steps 100 --seeds 1 {words}"
    after = told(f"sweep {words} --out", tmp_path / "s")["train"].split()
    options = dict(zip(after[3::2], map(float_or_text, after[4::2]), strict=True))
    start, end, share = (options[f"--epsilon-{part}"] for part in ("start", "end", "share"))
    assert Epsilon(start, end, "linear", share, "run").counted(100, "steps") == epsilon


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        (Epsilon(0.2), "--epsilon-start 0.2 --epsilon-end 0.2 --epsilon-share 0.0"),
        (Epsilon(1, 0.05, "linear", 50), "--epsilon-end 0.05 --epsilon-share 0.5"),
        (Epsilon(1, 0.05, "linear", 50, "episodes"), None),
        (Epsilon(1, 0.05, "exponential", 50), None),
    ],
)
def test_only_an_epsilon_that_train_has_options_for_is_repeated(
    epsilon: Epsilon, said: str | None
) -> None:
    train = made(small(alphas=[0.5], epsilons=[epsilon], steps=100)).summary()["train"]
    assert train is None if said is None else said in train


def float_or_text(word: str) -> float | str:
    return float(word) if word.replace(".", "").isdecimal() else word


def test_arguments_of_the_environment_reach_it(tmp_path: Path) -> None:
    dry = World.named("FrozenLake-v1", {"is_slippery": False})
    words = "sweep FrozenLake-v1 --alpha 0.5 --gamma 0.9 --seeds 1 --steps 5000 --jobs 1"
    report = told(f"{words} --env-kwargs is_slippery=false --out", tmp_path / "dry")
    options: dict[str, Any] = {"alphas": [0.5], "gammas": [0.9], "seeds": [0], "steps": 5000}
    given: dict[str, Any] = {**options, "env_kwargs": {"is_slippery": False}, "workers": Here()}
    result = qstep.sweep("FrozenLake-v1", **given)
    assert result.plan.world is not None
    assert result.plan.world.digest == dry.digest
    loaded = qstep.load(tmp_path / "dry")
    assert isinstance(loaded, SweepResult)
    assert same(loaded, result)
    assert same(result, made(planned(dry, **options)))
    assert report["train"].startswith(
        "qstep train FrozenLake-v1 --env-kwargs is_slippery=false --agents 1 "
    )
    assert report["env_kwargs"] == loaded.env_kwargs == {"is_slippery": False}
    assert loaded.evaluate(episodes=5)["greedy_success"] == 1  # without slipping
    with pytest.raises(ConfigError, match="they are only for a world given by name"):
        qstep.sweep(dry, **given)


def test_report_has_the_keys_of_train() -> None:
    swept = made(small(alphas=[0.5], seeds=[0])).summary()
    settings = AgentSettings(0.5, 0.9, Epsilon(1, 0.05, "linear", 500))
    alone = qstep.train("gridworld", steps=1000, agents=1, settings=settings).summary()
    (point,) = swept["points"]
    (agent,) = point["by_seed"]
    own = {"steps", "seconds", "steps_per_second", "command", "world", "near_after", "optimum"}
    for part in (swept, point, agent):
        for name in part.keys() & alone.keys() - own:
            assert part[name] == alone[name] or [part[name]] == alone[name], name
    assert ([agent["optimum"]], [agent["near_after"]]) == (alone["optimum"], alone["near_after"])
    assert point.keys() & alone.keys() >= {
        "discount",
        "greedy_return",
        "greedy_success",
        "near_agents",
    }
    assert agent.keys() & alone.keys() >= {
        "greedy_length",
        "terminations",
        "saturations",
        "near_after",
    }


@pytest.mark.slow
def test_loaded_sweep_of_a_world_that_has_changed_or_has_no_name_cannot_act(tmp_path: Path) -> None:
    board = tmp_path / "own.txt"
    board.write_text("S..\n.HG\n", encoding="utf-8")
    options: dict[str, Any] = {"gammas": [0.9], "seeds": [0], "steps": 2000, "workers": Here()}
    qstep.sweep(str(board), **options).save(tmp_path / "named")
    qstep.sweep(World.named(str(board)), **options).save(tmp_path / "unnamed")
    board.write_text("S.H\n..G\n", encoding="utf-8")
    with pytest.raises(WorldError, match="has changed since the sweep; sweep it again"):
        qstep.load(tmp_path / "named").act(0)
    unnamed = qstep.load(tmp_path / "unnamed")
    assert unnamed.plot().axes
    with pytest.raises(EnvironmentSpaceError, match="world"):
        unnamed.act(0)


def test_folder_whose_report_and_history_differ_is_refused(tmp_path: Path) -> None:
    files = made(small(alphas=[0.1, 0.5])).save(tmp_path)
    history = json.loads(files["history"].read_bytes())
    curves = history["evaluations"]["greedy_value"]
    history["evaluations"]["greedy_value"] = [points[:1] for points in curves]
    files["history"].write_text(json.dumps(history), encoding="utf-8")
    said = rf"does not hold a sweep .*the curves do not have shape \({len(curves)}, 2, 2\)"
    with pytest.raises(FileFormatError, match=said):
        qstep.load(tmp_path)


def test_option_that_there_is_not_is_named() -> None:
    with pytest.raises(ConfigError, match=r"sweep has no option 'alpha'\. Did you mean alphas"):
        qstep.sweep("gridworld", alpha=[0.5])


@pytest.mark.slow
def test_script_without_a_guard_is_told_to_have_one(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import qstep\n"
        "from qstep import Processes\n"
        "qstep.sweep('gridworld', steps=200, workers=Processes(2))\n",
        encoding="utf-8",
    )
    ended = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.count("Traceback") == 1  # the script's, not the workers'
    assert ended.stderr.splitlines()[-1] == (
        "qstep.errors.SchedulerError: no worker process could start: each imports the main module, so "
        'a script must call this below if __name__ == "__main__":'
    )
