"""The test of the LiteX SoC against a model with another discount: it has to fail."""

from tb.bus import litex_tests
from tb.bus.litex_tests import *  # noqa: F403

litex_tests.HYPER = litex_tests.Hyperparameters(alpha=0.5, gamma=0.75)
