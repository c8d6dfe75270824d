"""Duration of each test in its last run, stored in pytest's cache."""

import pytest

__all__ = ["SECONDS", "Seconds"]

SECONDS = "qstep/seconds"
"""Key of the durations in the cache."""


class Seconds:
    """pytest plugin that stores the durations of tests."""

    def __init__(self) -> None:
        self._took: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._took[report.nodeid] = round(report.duration, 2)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if cache := getattr(session.config, "cache", None):
            cache.set(SECONDS, cache.get(SECONDS, {}) | self._took)
