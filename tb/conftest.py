"""pytest settings for all tests, and selection of cocotb tests by name with ``pytest -k``."""

import gc
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

# Numba and Amaranth create millions of objects; collecting garbage less often saves a tenth of the time.
gc.set_threshold(100_000, 50, 100)

# Background processes of a shell ignore Ctrl-C, and the programs under test would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the main process gets all reports
        config.pluginmanager.register(Seconds())


NEEDS = ("rtl", "formal", "synth", "rebuild", "gpu", "board")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of software and boards that need no hardware tool as `unit`."""
    for item in items:
        if item.path.parent.name in ("sw", "fpga") and not any(
            item.get_closest_marker(need) for need in NEEDS
        ):
            item.add_marker("unit")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Add an item for each cocotb test that ``-k`` names, besides the item that simulates all of them.

    A test gets its simulations as a parameter or creates them itself. In the second case, its mark
    ``bench`` names the module of the cocotb tests, and the fixture `only` returns the test to run.
    """
    words = set(re.findall(r"\w+", metafunc.config.option.keyword)) - {"and", "or", "not"}

    def named(module: str, test: str = "", known: str = "") -> list[str]:
        """Return a module's tests whose names contain a word of ``-k`` that the item's name lacks."""
        new = [word for word in words if word not in metafunc.function.__name__ + known]
        there = [test] if test else tests_of(module)
        return [name for name in there if any(word in name for word in new)]

    def alone(test: str) -> str:
        """Return the test's name, or an empty string if the test checks the results of all others."""
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
    """Return the name of the cocotb test that ``-k`` selects; empty for all tests of the simulation."""
    return getattr(request, "param", "")
