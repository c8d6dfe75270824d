"""The agents with their tables and world, and a port for the host.

Function    See ``docs/acting.md``. The hand-written ``qs_acting`` includes a world of tables. Other
            worlds attach to ``qs_agents``: a circuit with a deadline, a tile-coded world without one.
Latency     A host access may take a few hundred clocks.
Throughput  See ``qs_acting``.
Reset       Ends the job; memories keep their contents.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, ClockSignal, Instance, Module, Mux, ResetSignal, Signal, signed
from amaranth.lib.wiring import Component, In, Member, Out, connect

from qstep.errors import ConfigError
from qstep.spec.agents import LANE_AGENTS
from qstep.spec.config import Config
from qstep.spec.integer_worlds import INTEGER_WORLDS
from qstep.spec.memory_map import Region
from qstep_rtl.deadline import Deadline
from qstep_rtl.existing_agents import existing_agents
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.pins import PinWorld, connect_pins, pins_of
from qstep_rtl.tile_coder import check_no_hash, states_of
from qstep_rtl.tiled_world import WRITE_CLOCKS, TiledWorldCircuit, check_starts
from qstep_rtl.world_port import Circuit, WorldSignature, check_circuit

__all__ = ["Agents", "check_room", "lane_parameters"]

_MOST_ROWS = 65536
"""Maximum number of states in all tables of a lane; each table counts as a power of two."""


def check_room(config: Config) -> None:
    """Raise an error if the agents or their world do not fit in hardware; without agents, do nothing.

    Raises
    ------
    ConfigError
        There are too many agents, states or planes, or the world cannot be built.
    TransitionError
        The reward of a tile-coded world does not fit the format.
    """
    acting = config.acting
    if acting is None:
        return
    if config.lane_agents > LANE_AGENTS:
        where = f" in {config.lanes} lanes" if config.lanes > 1 else ""
        most = config.lanes * LANE_AGENTS
        raise ConfigError(
            f"acting has {acting.agents} agents{where}; hardware has 1 to {most}, {LANE_AGENTS} a lane"
        )
    own = 1 if acting.shared_table else config.lane_agents
    if own > 1 and own << config.state_bits > _MOST_ROWS:
        most = _MOST_ROWS >> (own - 1).bit_length()
        raise ConfigError(
            f"states is {config.states} and a lane has {own} agents with tables of their own; in "
            f"hardware they have 2 to {most} states"
        )
    if acting.shared_table and acting.agents > 1 and (acting.is_live or acting.is_at_pins):
        # A held agent repeats its request, although the request has been answered.
        raise ConfigError(
            f"acting.world is {acting.world!r} and acting.shared_table true; in hardware, agents that "
            "share a table need a world that is a table or a circuit"
        )
    if acting.tiles is not None and not acting.is_live:
        check_no_hash(acting.tiles)
    if acting.is_tiled:
        check_starts(acting.integer_world)
        config.format.quantise(acting.integer_world.reward)
    elif config.planes > 1 and not (acting.is_live or acting.is_at_pins):
        worlds = " or ".join(map(repr, (*INTEGER_WORLDS, "live", "pins")))
        raise ConfigError(
            f"planes is {config.planes} and acting.world {acting.world!r}; hardware with several "
            f"planes needs {worlds}"
        )
    check_circuit(config)


def lane_parameters(config: Config) -> dict[str, int]:
    """Return the parameters of a lane that do not depend on its world."""
    assert config.acting is not None
    return {
        "p_States": config.states,
        "p_Actions": config.actions,
        "p_Width": config.format.width,
        "p_CoeffFraction": config.coefficient_bits,
        "p_Agents": config.lane_agents,
        "p_Algorithm": config.acting.algorithm.code,
        "p_Rounding": config.rounding.code,
        "p_Schedules": int(config.acting.schedules),
        "p_StepLimit": int(config.acting.step_limit),
    }


class Agents(Component):
    """The agents of a device with one lane.

    Parameters
    ----------
    config : Config
        Must have agents (``acting``).

    Attributes
    ----------
    agents : In(AgentsSignature)
    world : Out(WorldSignature)
        Present only if the host is the world (``live``).
    action_valid, ... : Out, In
        Present only if the world is at the pins: see :func:`qstep_rtl.pins.pins_of`.
    """

    def __init__(self, config: Config) -> None:
        assert config.acting is not None
        self._config, self.is_live = config, config.acting.is_live
        members: dict[str, Member] = {"agents": In(AgentsSignature()), **pins_of(config)}
        if self.is_live:
            members["world"] = Out(WorldSignature(config))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, acting = self._config, self._config.acting
        assert acting is not None
        host = existing_agents(m, config, self.agents)
        stop = Signal()
        ports: dict[str, Any] = {
            **lane_parameters(config),
            "p_SharedTable": int(acting.shared_table),
            "i_clk_i": ClockSignal(),
            "i_rst_i": ResetSignal(),
            "i_bus_valid_i": host.access,
            "o_bus_done_o": host.done,
            "o_bus_data_o": host.read,
            "i_run_i": host.run,
            "i_run_steps_i": host.steps,
            "i_stop_i": stop,
            "o_busy_o": host.busy,
        }
        if config.planes > 1:
            ports["p_Planes"] = config.planes
        m.d.comb += stop.eq(host.stop)
        if acting.is_tiled:
            self._add_tiled_world(m, ports, host)
            ports["i_bus_i"] = Cat(host.word, host.index, host.region, host.write)
            m.submodules.core = Instance("qs_agents", **ports)
        elif not acting.is_table:
            signature = WorldSignature(config)
            if self.is_live:
                world = self.world
            else:
                world = signature.create()
                self._add_world(m, world, host, stop)
            for name, member in signature.members.items():
                way = "o" if member.flow == Out else "i"
                ports[f"{way}_world_{name}_{way}"] = getattr(world, name)
            ports["i_bus_i"] = Cat(host.word, host.index, host.region, host.write)
            m.submodules.core = Instance("qs_agents", **ports)
        else:
            ports |= {
                "p_Outcomes": acting.outcomes,
                "p_Starts": acting.starts,
                "i_bus_write_i": host.write,
                "i_bus_region_i": host.region,
                "i_bus_index_i": host.index,
                "i_bus_data_i": host.word,
            }
            m.submodules.core = Instance("qs_acting", **ports)
        return m

    def _add_tiled_world(self, m: Module, ports: dict[str, Any], host: Any) -> None:
        """Add the world, connect it to ``qs_agents``, and give the host access to its states."""
        config, acting = self._config, self._config.acting
        assert acting is not None
        world = acting.integer_world
        m.submodules.world = circuit = TiledWorldCircuit(world, world.tiles)
        rows, start_rows = (
            states_of(config, planes) for planes in (circuit.rows, circuit.start_rows)
        )

        # An access to a state lasts until its agent may send a request. It is registered first, because
        # it arrives late from a host in another clock domain.
        done = Signal()
        read = Signal.like(host.read)
        is_of_world = host.region == Region.WORLD
        is_state, is_last = Signal(), Signal()
        clock = Signal(range(WRITE_CLOCKS + 1))
        m.d.comb += [
            circuit.index.eq(host.index),
            circuit.write.eq(is_state & host.write & (clock == 0)),
            circuit.data.eq(host.word),
            host.done.eq(done | is_last),
            host.read.eq(Mux(is_of_world, circuit.read, read)),
        ]
        m.d.sync += [
            is_state.eq(host.access & is_of_world & ~is_last),
            clock.eq(Mux(is_state & ~is_last, clock + 1, 0)),
            is_last.eq(is_state & (clock == WRITE_CLOCKS - 1)),
        ]
        ports |= {
            "i_bus_valid_i": host.access & ~is_of_world,
            "o_bus_done_o": done,
            "o_bus_data_o": read,
            "o_world_agent_o": circuit.agent,
            "o_world_action_o": circuit.action,
            "o_world_start_o": circuit.start,
            "i_world_ready_i": C(1),
            "i_world_reward_i": C(
                int(config.format.quantise(world.reward)), signed(config.format.width)
            ),
            "i_world_next_state_i": rows,
            "i_world_terminated_i": circuit.terminated,
            "i_world_start_state_i": start_rows,
            "o_world_acting_o": circuit.acting,
            "o_world_goes_o": circuit.goes,
            "o_world_restarts_o": circuit.restarts,
        }

    def _add_world(self, m: Module, world: Any, host: Any, stop: Signal) -> None:
        """Add the circuit that answers at the port `world`, and its deadline, which asserts `stop`."""
        config, acting = self._config, self._config.acting
        assert acting is not None
        answering: Circuit | PinWorld
        if acting.is_circuit:
            answering = Circuit(config)
        else:
            answering = PinWorld(config)
            connect_pins(m, config, self, answering)
            m.d.comb += answering.run.eq(host.run)
        m.submodules.circuit = answering
        m.submodules.deadline = deadline = Deadline(acting.agents, acting.deadline)
        connect(m, world, answering.world)
        was_silent = Signal()
        m.d.sync += was_silent.eq(deadline.silent)
        m.d.comb += [
            deadline.valid.eq(world.valid),
            deadline.agent.eq(world.agent),
            deadline.ready.eq(world.ready),
            deadline.run.eq(host.run),
            host.silent.eq(deadline.silent),
            host.silent_agent.eq(deadline.silent_agent),
            stop.eq(host.stop | (deadline.silent & ~was_silent)),
        ]
