"""Tests find the same wherever they run: on a busy machine, and started in the background."""

import signal

from hypothesis import HealthCheck, settings

# Property tests fail for what they find, not for how long a busy machine takes over it.
settings.register_profile(
    "qstep", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("qstep")

# What a shell starts in the background ignores Ctrl-C, and so would the programs under test.
signal.signal(signal.SIGINT, signal.default_int_handler)
