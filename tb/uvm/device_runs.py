"""The simulations that verify the whole device, generated for each configuration on demand."""

import hashlib
from dataclasses import replace

from tb.bench import BUILD, RTL, TB, Run
from tb.generated import whole

from qstep import Acting, Config, Link, QFormat
from qstep._io.files import make_folder, write_atomically
from qstep_rtl.sources import source

__all__ = ["AGENTS", "CONFIGS", "agents_run", "config_id", "device_run"]

CONFIGS = [
    Config(states=16, actions=4),
    Config(states=25, actions=3, format=QFormat(10, 10), loop_depth=3, link=Link(buffer_bytes=512)),
    Config(states=4, actions=3, loop_depth=3),
]
"""The last configuration has such short records and such a deep loop that the lane holds transitions."""


def config_id(config: Config) -> str:
    """Return the short name of a configuration for test names: ``s16-a4-w16-d1``."""
    width = config.format.width
    return f"s{config.states}-a{config.actions}-w{width}-d{config.loop_depth}"


def device_run(config: Config, requests: int = 300) -> Run:
    """Generate the device of a configuration, and return the run of its suite."""
    run = _run(config, "tb.uvm.device_tests")
    return replace(run, test="DeviceSuite", options={**run.options, "requests": str(requests)})


AGENTS = [
    Config(
        *(7, 3, "Q6.10"),
        acting=Acting(agents=6, outcomes=2, starts=2),
        link=Link(buffer_bytes=512),
        lanes=3,
    ),
]
"""Configurations with agents: one farm of three lanes."""

_AGENTS_WAIVERS = ("-Wno-VARHIDDEN",)
"""Needed because generated islands reuse names of the surrounding device."""


def agents_run(config: Config) -> Run:
    """Generate a device with agents, and return the run that tests the agent driver on it."""
    return _run(config, "tb.unit.rtl_link_agents")


def _run(config: Config, module: str) -> Run:
    text = whole(config).encode()
    folder = BUILD / f"device-{hashlib.sha256(text).hexdigest()[:12]}"
    make_folder(folder)
    device = folder / "qstep_device.v"
    write_atomically(device, text)
    toml = folder / f"{config_id(config)}.toml"
    toml.write_text(config.to_toml(), encoding="utf-8")
    agents = () if config.acting is None else (source("qs_chain_pkg.sv"),)
    return Run(
        top="qs_device_bench",
        module=module,
        options={"config": str(toml)},
        sources=(
            *agents,
            RTL / "qstep_generated.vlt",
            device,
            TB / "uvm" / "qs_device_bench.sv",
        ),
        build_args=() if config.acting is None else _AGENTS_WAIVERS,
    )
