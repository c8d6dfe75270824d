"""Tests behave the same everywhere, and ``pytest -k`` finds those within a simulation by their names."""

import re
import signal
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from tb.bench import Run, tests_of
from tb.seconds import Seconds

# Property tests must not fail because a busy machine is slow.
settings.register_profile(
    "qstep", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("qstep")

# Processes that a shell starts in the background ignore Ctrl-C, and so would the programs under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # in parallel, the first process hears of all tests
        config.pluginmanager.register(Seconds())


NEEDS = ("rtl", "formal", "synth", "rebuild", "gpu", "board")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of software and of boards that need no tool of hardware as `unit`."""
    for item in items:
        if item.path.parent.name in ("sw", "fpga") and not any(
            item.get_closest_marker(need) for need in NEEDS
        ):
            item.add_marker("unit")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Add an item for each cocotb test that ``-k`` names, beside the simulation that runs them all.

    The simulations are a parameter of the test, or it makes them itself: then it says the module of the
    cocotb tests with the mark ``bench``, and takes the name of the one to run from the fixture `only`.
    """
    words = set(re.findall(r"\w+", metafunc.config.option.keyword)) - {"and", "or", "not"}

    def named(module: str, test: str = "", known: str = "") -> list[str]:
        """Return a module's tests that a word of ``-k`` finds, if their item's name lacks it."""
        new = [word for word in words if word not in metafunc.function.__name__ + known]
        there = [test] if test else tests_of(module)
        return [name for name in there if any(word in name for word in new)]

    def alone(test: str) -> str:
        """Return the name of a test that runs alone; empty if it is about what all the others did."""
        return "" if test == "every_bin_is_hit" else test

    if "only" in metafunc.fixturenames:
        module, _ = next(metafunc.definition.iter_markers("bench")).args
        if tests := named(module):
            chosen = ["", *map(alone, tests)]
            metafunc.parametrize("only", chosen, indirect=True, ids=["all", *tests])
    marks = metafunc.definition.own_markers
    for at, mark in enumerate(marks):
        argument, values = mark.args if mark.name == "parametrize" else ("", ())
        given = [each if hasattr(each, "marks") else pytest.param(each) for each in values]
        if not any(len(each.values) == 1 and isinstance(each.values[0], Run) for each in given):
            continue
        items = []
        for run, marked in ((each.values[0], each.marks) for each in given):
            assert isinstance(run, Run)
            name = mark.kwargs["ids"](run)
            items.append(pytest.param(run, id=name, marks=marked))
            items += [
                pytest.param(replace(run, test=alone(test)), id=f"{name}-{test}", marks=marked)
                for test in named(run.module, run.test, name)
            ]
        marks[at] = pytest.mark.parametrize(argument, items).mark


@pytest.fixture
def only(request: pytest.FixtureRequest) -> str:
    """The name of one cocotb test, if ``-k`` has it; empty for all tests of the simulation."""
    return getattr(request, "param", "")
