"""Property tests fail for what they find, not for how long a busy machine takes over it."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "qstep", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("qstep")
