"""The learner in C++: where its header is, and the configuration that the header needs."""

from __future__ import annotations

from pathlib import Path

from qstep.spec.planes import PlanesConfig

__all__ = ["HEADER", "config_header"]

HEADER = Path(__file__).parents[1] / "cpp" / "planes.hpp"
"""The C++17 header, equal to :class:`qstep.golden.planes.PlanesModel` bit for bit."""


def config_header(name: str, config: PlanesConfig) -> str:
    """Return a C++ header that defines the struct ``qstep::<Name>`` of a configuration.

    Parameters
    ----------
    name : str
        A C++ identifier in lower case; the struct's name has a capital first letter.
    """
    c, kind = config.coefficients, name.capitalize()
    constants = ", ".join(f"0x{own:08x}u" for own in config.constants)
    size = (
        f"{config.groups} x {config.planes} planes of {config.rows} rows x {config.actions} actions, "
        f"{config.format}"
    )
    return f"""\
// {name}: {size}
#ifndef QSTEP_{name.upper()}_HPP
#define QSTEP_{name.upper()}_HPP

#include "qstep/planes.hpp"

namespace qstep {{

struct {kind} {{
    static constexpr int groups = {config.groups};
    static constexpr int planes = {config.planes};  // of each group
    static constexpr int rows = {config.rows};
    static constexpr int actions = {config.actions};
    static constexpr int width = {config.format.width};  // bits of a weight
    static constexpr int fraction = {config.format.fraction};
    static constexpr bool shared_error = {str(config.error == "shared").lower()};
    static constexpr bool floor = {str(config.floor).lower()};
    static constexpr int coefficient_bits = {c.bits};
    static constexpr int64_t alpha_raw = {c.alpha};
    static constexpr int64_t kappa_raw = {c.kappa};
    static constexpr int64_t start_raw = {config.start_raw};
    static constexpr uint32_t threshold = {config.threshold};  // of 65536: explores
    static constexpr std::array<uint32_t, planes> constants = {{{constants}}};
    static constexpr double alpha = {config.alpha!r};
    static constexpr double gamma = {config.gamma!r};
    static constexpr double start = {config.start!r};
}};

}}  // namespace qstep

#endif
"""
