"""Tests behave the same everywhere: on a busy machine, and when started in the background."""

import signal

from hypothesis import HealthCheck, settings

# Property tests must not fail because a busy machine is slow.
settings.register_profile(
    "qstep", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("qstep")

# Processes that a shell starts in the background ignore Ctrl-C, and so would the programs under test.
signal.signal(signal.SIGINT, signal.default_int_handler)
