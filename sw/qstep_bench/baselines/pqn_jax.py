"""PQN on CartPole in its authors' style: environments, learning and evaluation in one JAX program.

A run is a function of its seed. XLA compiles it as a whole, including loops, so environment and network
never wait for Python. The hyperparameters are those of `qstep.deep.pqn`; where that module and the
authors' program differ in other ways, this one follows the authors. A truncated episode counts as
terminated, and the values of next observations are those already computed to choose actions. Layers are
initialised as in Flax, the learning rate falls with every update, and each training environment has
separate random numbers.

References
----------
M. Gallici et al., "Simplifying Deep Temporal Difference Learning", ICLR 2025 (arXiv 2407.04811); the
program is ``pqn_gymnax.py`` of github.com/mttga/purejaxql.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from jax import lax, random
from numpy.typing import NDArray

from qstep.deep.config import PqnConfig
from qstep.envs.cartpole_kernels import ACTIONS, INPUTS, STEP_CAP

__all__ = ["Poles", "Rollout", "compiled_run", "lambda_returns", "step"]

_CART = CartPoleEnv()
_START = 0.05

Array: TypeAlias = Any
"""A jax.Array, or a tracer while a function is traced."""

Network: TypeAlias = list[dict[str, Array]]
"""Layers in order: ``weight`` (in, out) and ``bias``; hidden layers also ``gain`` and ``shift``."""


class Poles(NamedTuple):
    """N CartPole-v1 environments.

    Attributes
    ----------
    place : Array of float32, shape (N, 4)
        Position, velocity, angle and angular velocity; this is also the observation.
    steps : Array of int32, shape (N,)
        Steps since the episode began.
    """

    place: Array
    steps: Array


class Rollout(NamedTuple):
    """H steps of N environments. Shapes: (H, N); `seen` (H, N, 4); `values` (H, N, actions)."""

    seen: Array
    values: Array
    action: Array
    ended: Array


class State(NamedTuple):
    """The state carried between rollouts."""

    network: Network
    optimiser: Any
    poles: Poles
    key: Array


def _restart(key: Array, num_envs: int) -> Poles:
    """Return N environments at the start of an episode."""
    place = random.uniform(key, (num_envs, INPUTS), minval=-_START, maxval=_START)
    return Poles(place, jnp.zeros(num_envs, jnp.int32))


def step(poles: Poles, action: Array, key: Array) -> tuple[Poles, Array]:
    """Step every environment and restart ended episodes; also return which episodes ended."""
    _, x_dot, theta, theta_dot = poles.place.T
    force = jnp.where(action == 1, _CART.force_mag, -_CART.force_mag)
    cosine, sine = jnp.cos(theta), jnp.sin(theta)
    push = (force + _CART.polemass_length * theta_dot**2 * sine) / _CART.total_mass
    turn = (_CART.gravity * sine - cosine * push) / (
        _CART.length * (4.0 / 3.0 - _CART.masspole * cosine**2 / _CART.total_mass)
    )
    speed_up = push - _CART.polemass_length * turn * cosine / _CART.total_mass
    change = jnp.stack((x_dot, speed_up, theta_dot, turn), 1)
    place, steps = poles.place + _CART.tau * change, poles.steps + 1
    fallen = jnp.abs(place[:, 2]) > _CART.theta_threshold_radians
    ended = fallen | (jnp.abs(place[:, 0]) > _CART.x_threshold) | (steps >= STEP_CAP)
    new = _restart(key, len(action))
    moved = jnp.where(ended[:, None], new.place, place), jnp.where(ended, new.steps, steps)
    return Poles(*moved), ended


def compiled_run(
    config: PqnConfig, num_envs: int, games: int, evaluate_every: int
) -> Callable[[int], NDArray[np.float64]]:
    """Compile a complete run for the CPU: a function from a seed to the last evaluation's scores.

    Parameters
    ----------
    config : PqnConfig
        Its seed is ignored. Steps are rounded up to whole rollouts.
    num_envs : int
        Number of environments N, 1 or more.
    games : int
        Greedy episodes per evaluation, each in a separate environment.
    evaluate_every : int
        Rollouts between evaluations; the last rollout is also followed by an evaluation.
    """
    sizes = (INPUTS, *config.hidden, ACTIONS)
    size = config.num_steps * num_envs
    rollouts = -(-config.total_timesteps // size)
    updates = rollouts * config.update_epochs * config.num_minibatches
    optimiser = optax.chain(
        optax.clip_by_global_norm(config.max_grad_norm),
        optax.radam(
            optax.linear_schedule(config.learning_rate, config.final_learning_rate, updates)
        ),
    )
    start, end, over = config.epsilon.line(rollouts)
    epsilon_at = optax.linear_schedule(start, end, int(over))

    def rollout_of(state: State, epsilon: Array) -> Any:
        def act(poles: Poles, key: Array) -> tuple[Poles, Rollout]:
            explore, draw, move = random.split(key, 3)
            values = _values(state.network, poles.place)
            action = jnp.where(
                random.uniform(explore, (num_envs,)) < epsilon,
                random.randint(draw, (num_envs,), 0, ACTIONS),
                values.argmax(-1),
            )
            after, ended = step(poles, action, move)
            return after, Rollout(poles.place, values, action, ended)

        return lax.scan(act, state.poles, random.split(state.key, config.num_steps))

    def learn(network: Network, kept: Any, parts: tuple[Array, ...], key: Array) -> Any:
        def update(carry: Any, minibatch: tuple[Array, ...]) -> Any:
            network, kept = carry
            gradient = jax.grad(_loss)(network, *minibatch)
            change, kept = optimiser.update(gradient, kept, network)
            return (optax.apply_updates(network, change), kept), None

        def epoch(carry: Any, key: Array) -> Any:
            order = random.permutation(key, size).reshape(config.num_minibatches, -1)
            return lax.scan(update, carry, [part[order] for part in parts])

        return lax.scan(epoch, (network, kept), random.split(key, config.update_epochs))[0]

    def after_rollout(carry: tuple[State, Array], number: Array) -> Any:
        state, scores = carry
        key, play, order, test = random.split(state.key, 4)
        poles, seen = rollout_of(state._replace(key=play), epsilon_at(number))
        last = _values(state.network, poles.place).max(-1)
        returns = lambda_returns(seen, last, config)
        parts = (seen.seen, seen.action, returns)
        flat = tuple(part.reshape(size, *part.shape[2:]) for part in parts)
        network, kept = learn(state.network, state.optimiser, flat, order)
        due = ((number + 1) % evaluate_every == 0) | (number + 1 == rollouts)
        scores = lax.cond(due, lambda: _play(network, games, test), lambda: scores)
        return (State(network, kept, poles, key), scores), None

    def run(seed: Array) -> Array:
        key, first, begin = random.split(random.key(seed), 3)
        network = _new(sizes, first)
        state = State(network, optimiser.init(network), _restart(begin, num_envs), key)
        none = jnp.zeros(games, jnp.int32)
        return lax.scan(after_rollout, (state, none), jnp.arange(rollouts))[0][1]

    with jax.default_device(jax.devices("cpu")[0]):
        made = jax.jit(run).lower(jnp.uint32(0)).compile()
    return lambda seed: np.asarray(made(np.uint32(seed)), np.float64)


def _new(sizes: tuple[int, ...], key: Array) -> Network:
    """Return a network initialised as in Flax: truncated normal weights, biases 0."""
    layers = []
    for inputs, outputs in pairwise(sizes):
        key, own = random.split(key)
        weight = jax.nn.initializers.lecun_normal()(own, (inputs, outputs))
        layers.append({"weight": weight, "bias": jnp.zeros(outputs)})
    for layer in layers[:-1]:
        layer["gain"], layer["shift"] = jnp.ones_like(layer["bias"]), jnp.zeros_like(layer["bias"])
    return layers


def _values(network: Network, seen: Array) -> Array:
    """Return the action values of observations, one observation per row."""
    *hidden, last = network
    for layer in hidden:
        sums = seen @ layer["weight"] + layer["bias"]
        normalised = jax.nn.standardize(sums, epsilon=1e-6)  # as in Flax
        seen = jax.nn.relu(normalised * layer["gain"] + layer["shift"])
    return seen @ last["weight"] + last["bias"]


def _loss(network: Network, seen: Array, action: Array, returns: Array) -> Array:
    """Return half of the mean squared error."""
    taken = jnp.take_along_axis(_values(network, seen), action[:, None], 1)[:, 0]
    return 0.5 * jnp.square(taken - returns).mean()


def lambda_returns(rollout: Rollout, last: Array, config: PqnConfig) -> Array:
    """Return the lambda return of each step, shape (H, N); `last` is the value after the last step."""

    def back(carry: tuple[Array, Array], at: tuple[Array, Array]) -> Any:
        returns, following = carry
        value, ended = at
        mixed = following + config.q_lambda * (returns - following)
        returns = config.reward_scale + config.gamma * jnp.where(ended, 0.0, mixed)
        return (returns, value), returns

    best = rollout.values.max(-1)
    return lax.scan(back, (last, last), (best, rollout.ended), reverse=True)[1]


def _play(network: Network, games: int, key: Array) -> Array:
    """Return the scores of greedy episodes, one per environment."""

    def go_on(carry: tuple[Poles, Array, Array]) -> Any:
        poles, scores, key = carry
        key, move = random.split(key)
        after, ended = step(poles, _values(network, poles.place).argmax(-1), move)
        first = ended & (scores == 0)
        return after, jnp.where(first, poles.steps + 1, scores), key

    begin, key = random.split(key)
    carry = _restart(begin, games), jnp.zeros(games, jnp.int32), key
    return lax.while_loop(lambda carry: (carry[1] == 0).any(), go_on, carry)[1]
