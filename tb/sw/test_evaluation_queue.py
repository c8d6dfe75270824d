"""The queue of delayed rewards keeps its order, and every entry gets exactly one reward."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qstep.errors import ConfigError
from qstep.golden.evaluation_queue import EvaluationQueue, Learn, Rewards

LOW, HIGH = Rewards(20, 12, -8), Rewards(21, 13, -14)

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "insert", "fill", "demand"]),
        st.integers(0, 3),
        st.integers(0, 1),
        st.sampled_from([None, None, -2]),
    ),
    max_size=80,
)


def played(entries: int, events: list[Any]) -> tuple[list[Learn], int]:
    """Return the updates and the count of unknown keys, computed from the whole history."""
    inserted: list[dict[str, Any]] = []
    unknown = gone = 0
    for name, key, number, reward in events:
        rewards = (LOW, HIGH)[number]
        held = [own for own in inserted[gone:] if own["key"] == key]
        if name == "insert":
            if len(inserted) - gone == entries:
                if inserted[gone]["reward"] is None:
                    inserted[gone]["reward"] = rewards.unused
                gone += 1
            inserted.append({"key": key, "reward": reward, "filled": False})
        elif name == "fill":
            unknown += not held
            if held:
                held[0]["filled"] = True
        else:
            held = [own for own in held if own["reward"] is None]
            unknown += not held
            if held:
                held[0]["reward"] = rewards.timely if held[0]["filled"] else rewards.late
    learns = [Learn(n, n % 5, inserted[n]["reward"], n + 1, (n + 1) % 5) for n in range(gone - 1)]
    return learns, unknown


@given(st.integers(1, 5), EVENTS)
def test_every_entry_leaves_once_in_order_with_one_reward(entries: int, events: list[Any]) -> None:
    queue, learns, inserted = EvaluationQueue(entries, [LOW, HIGH]), [], 0
    for name, key, rewards, reward in events:
        if name == "insert":
            emitted = queue.insert(key, inserted, inserted % 5, reward, rewards)
            learns += [emitted] if emitted else []
            inserted += 1
        elif name == "fill":
            queue.fill(key)
        else:
            queue.demand(key, rewards)
    assert (learns, queue.unknown) == played(entries, events)
    assert len(queue) == min(inserted, entries)


def test_of_equal_keys_the_oldest_is_rewarded_first() -> None:
    queue = EvaluationQueue(3, [LOW, HIGH])
    for n in range(3):
        queue.insert(7, n, 0)
    queue.fill(7)
    queue.demand(7, rewards=1)
    queue.demand(7)
    learns = [queue.insert(0, n, 0, rewards=1) for n in range(3, 7)]
    assert [own.reward for own in learns if own] == [HIGH.timely, LOW.late, HIGH.unused]


def test_a_reward_given_at_once_is_not_replaced() -> None:
    queue = EvaluationQueue(1, [LOW, HIGH])
    queue.insert(7, "first", 3, reward=-2)
    queue.demand(7)
    assert queue.unknown == 1
    queue.insert(8, "second", 4)
    assert queue.insert(9, "third", 5) == Learn("first", 3, -2, "second", 4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: EvaluationQueue(0, [LOW, HIGH]), "entries is 0; it must be an integer from 1 to 65536"),
        (lambda: EvaluationQueue(1, [LOW]), "rewards has 1 sets; it must have 2"),
        (lambda: EvaluationQueue(1, [LOW, HIGH]).demand(0, 2), "rewards is 2; it must be an integer"),
        (lambda: EvaluationQueue(1, [LOW, HIGH]).insert(0, 0, 0, rewards=-1), "rewards is -1; it must"),
    ],
)  # fmt: skip
def test_what_the_queue_cannot_do_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        call()
