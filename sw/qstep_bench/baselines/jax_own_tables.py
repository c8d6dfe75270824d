"""Many agents with separate tables in JAX, vectorised in the usual way: one agent's loop under ``vmap``.

An agent is a function of its random key; ``lax.scan`` is its loop, ``vmap`` turns it into many agents,
and ``jit`` compiles the whole run as one program. Random numbers are drawn before the loop, because
splitting keys inside the loop would take three quarters of the time.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from numpy.typing import NDArray

from qstep.envs.gridworld import DeterministicModel
from qstep_bench.baselines.learning import AgentsLearning

__all__ = ["learn"]

Array: TypeAlias = Any
"""A jax.Array, or a tracer while a function is traced."""


def learn(model: DeterministicModel, steps: int, how: AgentsLearning) -> NDArray[np.float32]:
    """Run every agent for `steps` steps, and return all tables; the first call compiles.

    Parameters
    ----------
    model : DeterministicModel
    steps : int
        Steps per agent, 1 or more.
    how : AgentsLearning

    Returns
    -------
    ndarray of float32, shape (P, S, A)
    """
    world = tuple(jnp.asarray(part) for part in (model.next_state, model.reward, model.terminated))
    keys = random.split(random.key(how.seed), how.agents)
    return np.asarray(_program(steps, how, model.start)(world, keys))


@cache
def _program(steps: int, how: AgentsLearning, start: int) -> Any:
    run = partial(_run, steps=steps, how=how, start=start)
    return jax.jit(jax.vmap(run, in_axes=(None, 0)))


def _run(
    world: tuple[Array, Array, Array], key: Array, *, steps: int, how: AgentsLearning, start: int
) -> Array:
    """Return one agent's table after its steps."""
    next_states, rewards, terminations = world
    states, actions = next_states.shape
    chance, draw = random.split(key)
    explores = random.uniform(chance, (steps,)) < how.epsilon
    drawn = random.randint(draw, (steps,), 0, actions)

    def step(
        carry: tuple[Array, ...], choice: tuple[Array, Array]
    ) -> tuple[tuple[Array, ...], None]:
        table, state, age = carry
        explore, random_action = choice
        action = jnp.where(explore, random_action, table[state].argmax())
        arrived, terminated = next_states[state, action], terminations[state, action]
        bootstrap = jnp.where(terminated, 0.0, how.gamma * table[arrived].max())
        error = rewards[state, action] + bootstrap - table[state, action]
        table = table.at[state, action].add(how.alpha * error)
        over = terminated | (age + 1 >= how.episode_cap)
        return (table, jnp.where(over, start, arrived), jnp.where(over, 0, age + 1)), None

    first = jnp.zeros((states, actions)), jnp.int32(start), jnp.int32(0)
    (table, *_), _ = lax.scan(step, first, (explores, drawn))
    return table
