"""The test of the LiteX SoC against a model with a different discount; it must fail."""

from dataclasses import replace

from tb.bus import litex_tests
from tb.bus.litex_tests import *  # noqa: F403

litex_tests.HYPER = replace(litex_tests.HYPER, gamma=0.75)
