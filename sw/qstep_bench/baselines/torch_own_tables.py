"""Many agents with separate tables in PyTorch: every operation covers all agents at once."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from qstep.envs.gridworld import DeterministicModel
from qstep_bench.baselines.learning import AgentsLearning

__all__ = ["learn"]


@torch.inference_mode()
def learn(
    model: DeterministicModel, steps: int, how: AgentsLearning, device: str
) -> NDArray[np.float32]:
    """Run every agent for `steps` steps, and return all tables.

    Parameters
    ----------
    model : DeterministicModel
    steps : int
        Steps per agent, 1 or more.
    how : AgentsLearning
    device : str
        A PyTorch device.

    Returns
    -------
    ndarray of float32, shape (P, S, A)
    """
    states, actions = model.next_state.shape
    on = torch.device(device)
    generator = torch.Generator(on).manual_seed(how.seed)
    next_state, terminated = (
        torch.from_numpy(part).reshape(-1).to(on) for part in (model.next_state, model.terminated)
    )
    next_state = next_state.long()
    reward = torch.from_numpy(model.reward).float().reshape(-1).to(on)
    discount = torch.where(terminated, 0.0, how.gamma)

    table = torch.zeros(how.agents, states, actions, device=on)
    entries = table.view(-1)
    agent = torch.arange(how.agents, device=on)
    state = torch.full((how.agents,), model.start, device=on)
    age = torch.zeros_like(state)
    for _ in range(steps):
        greedy = table[agent, state].argmax(1)
        drawn = torch.randint(actions, (how.agents,), generator=generator, device=on)
        explore = torch.rand(how.agents, generator=generator, device=on) < how.epsilon
        entry = state * actions + torch.where(explore, drawn, greedy)
        arrived = next_state[entry]
        target = reward[entry] + discount[entry] * table[agent, arrived].amax(1)
        place = agent * (states * actions) + entry
        entries[place] = entries[place].lerp(target, how.alpha)
        age += 1
        over = terminated[entry] | (age >= how.episode_cap)
        state = torch.where(over, model.start, arrived)
        age = torch.where(over, 0, age)
    return table.cpu().numpy()
