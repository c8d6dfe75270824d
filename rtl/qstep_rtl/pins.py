"""The world at the pins: actions are output and their outcomes are input, each as one word.

Function    An action is sent once, at its agent's first request for the outcome, and again in a new
            job. One answer per action is accepted, and held until the agent's next request.
            See docs/live-worlds.md.
Latency     One clock from a request to `action_valid`. An answer is available in the clock after it
            arrives; tile coding adds CODER_CLOCKS.
Throughput  One action and one answer per clock.
Reset       Same as at the start of a job: no action has been sent, and no answer is stored.
Hazards     none: an agent waits at least 16 clocks before it repeats its request.
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Member, Out

from qstep.spec.config import Config
from qstep_rtl.motions import later
from qstep_rtl.tile_coder import CODER_CLOCKS, TileCoder, number_shapes, states_of
from qstep_rtl.world_port import AGENT_BITS, ANSWER_CLOCKS, WorldSignature

__all__ = ["PinWorld", "connect_pins", "pins_of"]


def pins_of(config: Config) -> dict[str, Member]:
    """Return the pins as members by name; empty unless the device's world is at the pins.

    Attributes
    ----------
    action_valid, action_agent, action_state, action : Out(1), Out(4), Out, Out
        Valid for one clock: an agent's action and its state. With several planes, a state is one row per
        plane, with the first plane's row lowest. With tile coding there is no `action_state`.
    answer_valid, answer_ready : In(1), Out(1)
        An answer is accepted when both are 1.
    answer_agent, answer_reward, answer_next_state, answer_terminated : In(4), In(signed), In, In(1)
        The agent, and the outcome of its action; the reward is raw.
    start_state : In
        The start state of an episode, sampled when an agent begins and when an episode has ended.
    observation : In
        With tile coding, replaces `answer_next_state` and `start_state`: the numbers of an observation,
        with the first number lowest. An answer's observation follows the agent's action or, if its
        episode has ended, starts the next one. Agents begin with the observation present when the job
        starts.
    """
    acting = config.acting
    if acting is None or not acting.is_at_pins:
        return {}
    state, seen, left_out = config.planes * config.state_bits, 0, {"observation"}
    if acting.tiles is not None:
        seen = sum(shape.width for shape in number_shapes(acting.tiles))
        left_out = {"action_state", "answer_next_state", "start_state"}
    pins = {
        "action_valid": Out(1),
        "action_agent": Out(AGENT_BITS),
        "action_state": Out(state),
        "action": Out(config.action_bits),
        "answer_valid": In(1),
        "answer_ready": Out(1),
        "answer_agent": In(AGENT_BITS),
        "answer_reward": In(signed(config.format.width)),
        "answer_next_state": In(state),
        "observation": In(seen),
        "answer_terminated": In(1),
        "start_state": In(state),
    }
    return {name: member for name, member in pins.items() if name not in left_out}


def connect_pins(m: Module, config: Config, outer: Component, inner: Component) -> None:
    """Connect a block's pins to the pins of the enclosing block."""
    for name, member in pins_of(config).items():
        outside: Value = getattr(outer, name)
        inside: Value = getattr(inner, name)
        m.d.comb += inside.eq(outside) if member.flow == In else outside.eq(inside)


class PinWorld(Component):
    """The world at the pins.

    Parameters
    ----------
    config : Config
        Its ``acting.world`` is ``pins``.

    Attributes
    ----------
    world : In(WorldSignature)
    run : In(1)
        A job starts.
    action_valid, ... : Out, In
        See :func:`pins_of`.
    """

    def __init__(self, config: Config) -> None:
        assert config.acting is not None
        self._config, self._agents, self._tiles = config, config.acting.agents, config.acting.tiles
        members = {"world": In(WorldSignature(config)), "run": In(1)}
        super().__init__({**members, **pins_of(config)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        world = self.world
        answer = data.StructLayout(
            {
                "reward": signed(self._config.format.width),
                "next_state": len(world.next_state),
                "terminated": 1,
            }
        )

        def flags(name: str) -> Array:
            return Array(Signal(name=f"{name}_{agent}") for agent in range(self._agents))

        said, there = flags("said"), flags("there")
        taken = there if self._tiles is None else flags("taken")  # set before the answer is stored
        m.submodules.answers = answers = Memory(shape=answer, depth=max(2, self._agents), init=[])
        read, write = answers.read_port(), answers.write_port()

        # An agent's request.
        given = Signal(ANSWER_CLOCKS)
        late = [read.data, *(Signal(answer, name=f"late_{clock}") for clock in (2, 3))]
        is_first = world.valid & ~said[world.agent]
        is_answered = world.valid & there[world.agent]
        m.d.comb += read.addr.eq(world.agent)
        m.d.sync += [
            late[1].eq(late[0]),
            late[2].eq(late[1]),
            given.eq(given << 1 | is_answered),
            self.action_valid.eq(is_first),
            self.action_agent.eq(world.agent),
            self.action.eq(world.action),
        ]
        m.d.comb += [
            world.ready.eq(given[-1]),
            world.reward.eq(late[-1].reward),
            world.next_state.eq(late[-1].next_state),
            world.terminated.eq(late[-1].terminated),
        ]
        with m.If(world.valid):
            m.d.sync += said[world.agent].eq(~is_answered)
        with m.If(is_answered):
            m.d.sync += [there[world.agent].eq(0), taken[world.agent].eq(0)]

        # An answer arrives; with tile coding, its rows are known some clocks later.
        accepted = self.answer_valid & self.answer_ready
        m.d.comb += self.answer_ready.eq(
            (self.answer_agent < self._agents) & said[self.answer_agent] & ~taken[self.answer_agent]
        )
        with m.If(accepted):
            m.d.sync += taken[self.answer_agent].eq(1)
        if self._tiles is None:
            m.d.sync += self.action_state.eq(world.state)
            clocks, is_there = 0, accepted
            next_state, start_state = self.answer_next_state, self.start_state
        else:
            clocks, is_there = CODER_CLOCKS, Signal()
            m.submodules.coder = coder = TileCoder(self._tiles)
            coming = Signal(clocks)
            next_state = states_of(self._config, coder.rows)
            first = Signal.like(next_state)
            start_state = Mux(given[-1], late[-1].next_state, first)
            with m.If(later(m, self.run, clocks)):
                m.d.sync += first.eq(next_state)
            m.d.comb += [coder.numbers.as_value().eq(self.observation), is_there.eq(coming[-1])]
            m.d.sync += coming.eq(Mux(self.run, 0, coming << 1 | accepted))
        agent = later(m, self.answer_agent, clocks)
        m.d.comb += [
            world.start_state.eq(start_state),
            write.addr.eq(agent),
            write.data.reward.eq(later(m, self.answer_reward, clocks)),
            write.data.next_state.eq(next_state),
            write.data.terminated.eq(later(m, self.answer_terminated, clocks)),
            write.en.eq(is_there),
        ]
        with m.If(is_there):
            m.d.sync += there[agent].eq(1)
        with m.If(self.run):
            m.d.sync += [each.eq(0) for each in (*said, *there, *taken)]
        return m
