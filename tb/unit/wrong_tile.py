"""The test of the Tiny Tapeout project with a wrong discount, so that it must fail."""

from tiny_tapeout.test import test as project
from tiny_tapeout.test.test import *  # noqa: F403

project.KAPPA = 12288  # gamma is 3/4
