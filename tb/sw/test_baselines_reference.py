"""The reference program makes the same moves as the public program that it reproduces."""

import pytest

from qstep.envs.gridworld import GridWorld
from qstep.envs.maps import MAPS
from qstep_bench.baselines import dictionary, reference

PLAYED = {0: (83_961, 9_182), 1: (83_289, 8_889), 2: (83_866, 9_149)}
"""Moves and wins in 10,000 episodes, by seed."""

LEFT = -sum(0.9**k for k in range(8)) + 0.9**8
"""Exact start value if the state left by a move pays: eight moves, then the goal's own reward."""

ENTERED = -sum(0.9**k for k in range(7)) + 0.9**7
"""Exact start value if the state entered by a move pays: the eighth move pays +1."""


@pytest.fixture(scope="module", params=PLAYED, ids=lambda seed: f"seed{seed}")
def played(request: pytest.FixtureRequest) -> tuple[int, reference.Learnt]:
    return request.param, reference.learn(seed=request.param)


def start_value(learnt: reference.Learnt) -> float:
    return float(reference.to_array(learnt)[0].max())


def test_moves_and_wins_are_the_public_programs(played: tuple[int, reference.Learnt]) -> None:
    seed, learnt = played
    assert (learnt.moves, learnt.wins) == PLAYED[seed]
    assert learnt.episodes == 10_000


def test_the_value_of_the_start_stalls(played: tuple[int, reference.Learnt]) -> None:
    assert start_value(played[1]) == -5.262
    assert pytest.approx(-5.26486, abs=1e-5) == LEFT


def test_the_textbook_form_reaches_the_exact_value() -> None:
    env = GridWorld(MAPS["gridworld"])
    world = env.deterministic_model()
    q = dictionary.to_array(dictionary.learn(world, 60_000))
    # These are float64 sums of eight terms.
    assert q[0].max() == pytest.approx(ENTERED, abs=1e-12)


def test_the_printed_table_is_the_public_programs(capsys: pytest.CaptureFixture[str]) -> None:
    reference.main()
    head, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head == ["seed", "moves", "ends", "wins", "V(0,0)", "moves/s"]
    assert [row[:5] for row in rows] == [
        ["0", "83,961", "10,000", "91.82%", "-5.262"],
        ["1", "83,289", "10,000", "88.89%", "-5.262"],
        ["2", "83,866", "10,000", "91.49%", "-5.262"],
    ]
    assert all(int(row[5].replace(",", "")) > 0 for row in rows)


def test_another_seed_plays_otherwise() -> None:
    one, other = reference.learn(200, seed=0), reference.learn(200, seed=1)
    assert (one.moves, one.q) != (other.moves, other.q)
    assert reference.learn(200, seed=0) == one


def test_values_have_three_decimals_and_ends_are_worth_their_reward() -> None:
    q = reference.learn(2000).q
    assert all(value == round(value, 3) for value in q.values())
    for place, reward in {(1, 0): -5, (3, 1): -5, (4, 2): -5, (1, 3): -5, (4, 4): 1}.items():
        assert [q[*place, action] for action in range(4)] == [reward] * 4


def test_ties_go_to_the_highest_action() -> None:
    # Each state in the first row tries right first, which moves on; each try lowers the value by 0.5.
    learnt = reference.learn(1, most_moves=4, epsilon=0.0)
    assert [entry for entry, value in learnt.q.items() if value] == [(0, k, 3) for k in range(4)]


def test_most_moves_ends_it_inside_an_episode() -> None:
    learnt = reference.learn(10_000, most_moves=1000)
    assert learnt.moves == 1000
    assert 0 < learnt.wins < learnt.episodes < 200
