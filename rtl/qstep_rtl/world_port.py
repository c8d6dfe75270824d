"""The port between the agents and their world, and the module that answers at it.

Function    `valid` marks an agent's request; its answer is sampled exactly three clocks later, if
            `ready` is 1. See docs/circuit-worlds.md.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockSignal, Fragment, Instance, Module, ResetSignal, signed
from amaranth.lib.wiring import Component, In, Out, Signature, connect, flipped

from qstep.errors import ConfigError
from qstep.spec.config import Config
from qstep_rtl import sources
from qstep_rtl.invariants import GENERATED

__all__ = ["AGENT_BITS", "ANSWER_CLOCKS", "Circuit", "WorldSignature", "check_circuit"]

AGENT_BITS = 4

ANSWER_CLOCKS = 3
"""Clocks from a request to its answer."""

_DRAW_BITS = 16


class WorldSignature(Signature):
    """The port for the agents' requests to their world, as seen from the agents.

    Parameters
    ----------
    config : Config

    Attributes
    ----------
    valid, agent : Out(1), Out(4)
        An agent's request, at most one per clock; the agent's number.
    state, action : Out, Out
        The agent's state, and its action in that state. A state is a row or, with several planes, one
        row per plane, with the first plane's row lowest.
    outcome, start : Out(16), Out(16)
        The agent's random draws: uniform, independent, and new in each step.
    ready : In(1)
        Three clocks after `valid`: the answer is valid. Otherwise the agent repeats its request some
        clocks later, with the same draws.
    reward, next_state, terminated : In(signed), In, In(1)
        The answer; the reward is raw, a multiple of 2^-F.
    start_state : In
        Three clocks after each draw, with or without a request: the start state of an episode with that
        draw.
    """

    def __init__(self, config: Config) -> None:
        state = config.planes * config.state_bits
        super().__init__(
            {
                "valid": Out(1),
                "agent": Out(AGENT_BITS),
                "state": Out(state),
                "action": Out(config.action_bits),
                "outcome": Out(_DRAW_BITS),
                "start": Out(_DRAW_BITS),
                "ready": In(1),
                "reward": In(signed(config.format.width)),
                "next_state": In(state),
                "terminated": In(1),
                "start_state": In(state),
            }
        )


class Circuit(Component):
    """The world of a configuration whose ``acting.world`` is a file.

    A SystemVerilog or Verilog file contains a module with the file's name. A Python file contains a
    class ``World``, an Amaranth component with a member ``world : In(WorldSignature(config))``, which is
    constructed with the configuration.

    Parameters
    ----------
    config : Config

    Attributes
    ----------
    world : In(WorldSignature)
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__({"world": In(WorldSignature(config))})

    def elaborate(self, platform: object) -> Module | Instance:
        (path,) = sources.circuit(self._config)
        if path.suffix != ".py":
            return self._instance(path.stem)
        world = _kind(path)(self._config)
        m = Module()
        m.submodules.world = world
        connect(m, flipped(self.world), world.world)
        return m

    def _instance(self, name: str) -> Instance:
        config, port = self._config, self.world
        ports: dict[str, Any] = {
            "p_States": config.states,
            "p_Actions": config.actions,
            "p_Width": config.format.width,
            "p_Fraction": config.format.fraction,
            "i_clk_i": ClockSignal(),
            "i_rst_i": ResetSignal(),
        }
        for member, shape in WorldSignature(config).members.items():
            way = "i" if shape.flow == Out else "o"
            ports[f"{way}_{member}_{way}"] = getattr(port, member)
        return Instance(name, **ports)


def check_circuit(config: Config) -> None:
    """Raise ConfigError if a circuit's file does not exist, has no class ``World``, or does not fit."""
    if sources.circuit(config):
        Fragment.get(Circuit(config), GENERATED)


def _kind(path: Path) -> type[Any]:
    """Return the circuit's class from a Python file."""
    found: type[Any] | None = runpy.run_path(str(path)).get("World")
    if found is None:
        raise ConfigError(f"acting.world is {str(path)!r}; it must hold a class World")
    return found
