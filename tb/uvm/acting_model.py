"""The plain model of the agents, stepped one agent at a time, and its state after a setup."""

from dataclasses import replace

from tb.uvm.acting_items import Setup

from qstep.golden.agents import ActingModel, Step
from qstep.mdp.memory import WorldTable
from qstep.spec.config import Config
from qstep.spec.random import Draw, advanced, draw

__all__ = ["Agents", "after_setup"]


class Agents(ActingModel):
    """The plain model, stepped one agent at a time."""

    def step(self, agent: int) -> Step:
        return self._step(agent)

    def begin(self, agent: int) -> None:
        """Draw the first start state and an action in it, as happens before the first step."""
        self._begin(agent)

    def drawn(self, agent: int) -> Draw:
        """Return the draw for an agent's next step."""
        return draw(advanced(self.states[agent].word))


def after_setup(setup: Setup, before: Agents | None, config: Config, world: WorldTable) -> Agents:
    """Return the agents after a setup: the previous ones with new contexts, or new agents."""
    if before is not None:
        assert isinstance(before.world, WorldTable)
        world = before.world
    if setup.limit is not None:
        world = replace(world, max_episode_steps=setup.limit)
    if setup.table is not None:
        before = Agents(config, world, setup.settings)
        before.load(setup.table)
    assert before is not None, f"{setup.get_name()} before a table"
    before.world, before.settings = world, tuple(setup.settings)
    before.states[:] = [replace(state) for state in setup.states]
    return before
