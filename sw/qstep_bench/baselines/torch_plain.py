"""Many agents share one table in PyTorch, in typical code. Start reading here.

All agents begin an episode together and step until the last has finished or the cap is reached. This is
textbook Q-learning with tensors in place of numbers, and it does learn. All the properties below are
common in such code; none was added to make it slow.

- A mask marks the agents that are still walking, and each write is restricted to those agents.
- The table and the model are indexed by pairs of index tensors.
- Every step reads values from the device and waits for each (``.item()``, ``bool()``): how many agents
  explore, learn and win, and whether any agent is still walking.
- Finished agents idle until the last one has finished: about half of all computed steps are wasted.
- ``max(dim=1)`` uses all threads even for a small table.
- When several agents update one entry, ``q[state, action] += ...`` keeps one update and loses the
  others. Which update it keeps is undefined; each update is correct by itself.

:mod:`qstep_bench.baselines.torch_batched` is the fast version. Values are float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from qstep.deep import torch_device
from qstep.envs.gridworld import DeterministicModel
from qstep_bench.baselines.learning import (
    AGENTS,
    UNWATCHED,
    AgentsLearning,
    AgentsProgress,
    Watch,
)
from qstep_bench.baselines.problem import winning

__all__ = ["learn"]


def learn(
    model: DeterministicModel,
    updates: int,
    how: AgentsLearning = AGENTS,
    device: str = "cpu",
    watch: Watch = UNWATCHED,
) -> Tensor:
    """Step many agents through the model; see :class:`~qstep_bench.baselines.learning.LearnTogether`."""
    alpha, gamma, epsilon = how.alpha, how.gamma, how.epsilon
    agents, report = how.agents, watch.report
    on = torch_device.choose(device)
    next_states = torch.tensor(model.next_state, dtype=torch.int64, device=on)
    rewards = torch.tensor(model.reward, dtype=torch.float32, device=on)
    ends = torch.tensor(model.terminated, device=on)
    wins_there = torch.tensor(winning(model), device=on)
    q = torch.zeros(next_states.shape, device=on)
    generator = torch.Generator(on).manual_seed(how.seed)

    done = reported = episodes = wins = 0
    while done < updates:
        state = torch.full((agents,), model.start, device=on)
        active = torch.ones(agents, dtype=torch.bool, device=on)
        for _ in range(how.episode_cap):
            action = q[state].argmax(dim=1)
            explore = torch.rand(agents, generator=generator, device=on) < epsilon
            count = int(explore.sum().item())
            action[explore] = torch.randint(q.shape[1], (count,), generator=generator, device=on)

            next_state = next_states[state, action]
            terminated = ends[state, action]
            best = q[next_state].max(dim=1).values
            best[terminated] = 0.0
            error = rewards[state, action] + gamma * best - q[state, action]
            q[state[active], action[active]] += alpha * error[active]

            done += int(active.sum().item())
            wins += int((active & wins_there[state, action]).sum().item())
            state[active] = next_state[active]
            active[terminated] = False
            if not active.any():
                break
        episodes += agents

        if report and (done - reported >= watch.every or done >= updates):
            report(AgentsProgress(done, episodes, wins, q[model.start].max().item()))
            reported, episodes, wins = done, 0, 0
    return q
