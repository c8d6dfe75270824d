"""Prioritised replay draws by priority, and its weights correct the bias."""

import numpy as np
import pytest

from qstep.deep.replay import Priorities


def errors(rows: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=rows).astype(np.float32)


@pytest.mark.parametrize("capacity", [1, 2, 5, 8, 100])
def test_total_is_the_sum_of_the_priorities(capacity: int) -> None:
    priorities, rows = Priorities(capacity, 0.6), np.arange(capacity)
    priorities.add(rows)
    assert priorities.total == capacity
    for _ in range(3):
        priorities.update(rows, errors(capacity))
        expected = (np.abs(errors(capacity)).astype(np.float64) + 1e-6) ** 0.6
        assert np.array_equal(priorities.of(rows), expected)
        # float64 sums taken in another order
        assert priorities.total == pytest.approx(expected.sum(), rel=1e-12)


def test_rows_are_drawn_as_often_as_their_priority_says() -> None:
    priorities, rows = Priorities(6, 1.0), np.arange(5)
    priorities.add(rows)
    priorities.update(rows, np.array([0, 1, 2, 3, 4], np.float32))
    drawn = priorities.draw(1000, 10, np.random.default_rng(2))
    share = np.bincount(drawn.ravel(), minlength=6) / drawn.size
    # With 10,000 stratified draws, the standard deviation of a share is below 0.005.
    assert np.abs(share - np.array([0, 1, 2, 3, 4, 0]) / 10).max() < 0.02
    assert share[5] == 0  # nothing is stored there


def test_every_row_of_a_batch_is_from_its_own_stratum() -> None:
    priorities = Priorities(8, 1.0)
    priorities.add(np.arange(8))
    drawn = priorities.draw(50, 8, np.random.default_rng(0))
    assert (drawn == np.arange(8)).all()


def test_place_at_the_very_end_finds_a_stored_row() -> None:
    class Last:
        def random(self, shape: tuple[int, int]) -> np.ndarray:
            return np.full(shape, 1.0)  # a real generator stays below 1

    priorities = Priorities(8, 1.0)
    priorities.add(np.arange(3))
    assert priorities.draw(1, 1, Last()).item() == 2  # type: ignore[arg-type]


def test_weights_undo_the_preference() -> None:
    priorities, rows = Priorities(4, 1.0), np.arange(4)
    priorities.add(rows)
    priorities.update(rows, np.array([1, 2, 4, 8], np.float32))
    weights = priorities.weights(rows[None], 4, 1.0)[0]
    drawn_by = priorities.of(rows) / priorities.total
    # float32 weights of float64 shares
    np.testing.assert_allclose(weights * drawn_by, drawn_by[0], rtol=1e-6)
    assert weights.max() == 1
    assert (priorities.weights(rows[None], 4, 0.0) == 1).all()


def test_new_rows_get_the_highest_priority_that_errors_gave() -> None:
    priorities = Priorities(8, 1.0)

    def added(row: int) -> float:
        priorities.add(np.array([row]))
        return float(priorities.of(np.array([row])).item()) - 1e-6

    assert added(0) == 1.0 - 1e-6
    priorities.update(np.array([0, 1]), np.array([0.05, 0.02], np.float32))
    assert added(2) == pytest.approx(0.05)  # not 1, because errors are this small
    priorities.update(np.arange(3), np.array([5, 2, 1], np.float32))
    assert added(3) == pytest.approx(5)
    priorities.update(np.array([0]), np.array([0.5], np.float32))
    assert added(4) == pytest.approx(2)  # row 3 has priority 5, but not from its own error
    priorities.add(np.array([1]))  # another transition replaces row 1
    assert added(5) == pytest.approx(1)


def test_last_update_of_a_row_counts() -> None:
    priorities = Priorities(4, 1.0)
    priorities.update(np.array([2, 2]), np.array([9, 3], np.float32))
    assert priorities.of(np.array([2])).item() == pytest.approx(3 + 1e-6)
    assert priorities.total == pytest.approx(3 + 1e-6)


def test_restored_priorities_draw_alike() -> None:
    priorities, other = Priorities(50), Priorities(50)
    priorities.add(np.arange(50))
    priorities.update(np.arange(50), errors(50))
    other.restore(priorities.checkpoint())
    one, two = (p.draw(2, 16, np.random.default_rng(4)) for p in (priorities, other))
    assert np.array_equal(one, two)
    for memory in (priorities, other):
        memory.add(np.array([7]))
    assert np.array_equal(priorities.checkpoint()["tree"], other.checkpoint()["tree"])
