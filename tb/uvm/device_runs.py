"""The simulations that verify the whole device: configurations, generated on use."""

from __future__ import annotations

from tb.bench import BUILD, RTL, TB, Run
from tb.generated import generated

from qstep import Config, Link, QFormat
from qstep.files import make_folder, write_atomically

__all__ = ["CONFIGS", "config_id", "device_run"]

CONFIGS = [
    Config(states=16, actions=4),
    Config(states=25, actions=3, format=QFormat(10, 10), loop_depth=3, link=Link(buffer_bytes=512)),
    Config(states=4, actions=3, loop_depth=3),
]
"""The last one has records so short, and a loop so deep, that the lane holds transitions back."""


def config_id(config: Config) -> str:
    """Return the short form of a configuration for test names: ``s16-a4-w16-d1``."""
    width = config.format.width
    return f"s{config.states}-a{config.actions}-w{width}-d{config.loop_depth}"


def device_run(config: Config, requests: int = 300) -> Run:
    """Generate the device of a configuration and return the run of its suite."""
    folder = BUILD / f"device-{config.digest[:12]}"
    make_folder(folder)
    device = folder / "qstep_device.v"
    write_atomically(device, generated(config)["qstep_device"].encode())
    toml = folder / f"{config_id(config)}.toml"
    toml.write_text(config.to_toml(), encoding="utf-8")
    return Run(
        top="qs_device_bench",
        module="tb.uvm.device_tests",
        test="DeviceSuite",
        options={"config": str(toml), "requests": str(requests)},
        sources=(
            RTL / "qstep_generated.vlt",
            device,
            TB / "uvm" / "qs_device_bench.sv",
        ),
    )
