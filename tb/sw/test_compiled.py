"""Machine code cached on disk always matches the current source text."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config
from numba.core.caching import NullCache

import qstep
from qstep._io.compiled import cache_of_compiled, compiled

pytestmark = pytest.mark.slow

PACKAGE = Path(qstep.__file__).parent
FILES = {
    "__init__.py": "",
    "rules.py": "FOOD = 10.0\n",
    "game/__init__.py": "from qstep.rules import FOOD\nPAY = FOOD + 1\n",
    "between.py": (
        "from qstep._io.compiled import inner\n"
        "if True:\n"
        "    from qstep import game\n"
        "@inner\n"
        "def total():\n"
        "    return 2 * game.PAY\n"
    ),
    "other.py": "UNUSED = 1\n",
    "kernel.py": (
        "from qstep._io.compiled import compiled\n"
        "from qstep.between import total\n"
        "@compiled\n"
        "def pay():\n"
        "    return total()\n"
        "def later():\n"
        "    import qstep.other\n"
        "print(pay(), sum(pay.stats.cache_hits.values()))\n"
    ),
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a package named qstep whose kernel depends on a constant three imports away."""
    folder = tmp_path / "qstep"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "_io").mkdir()
    shutil.copy(PACKAGE / "_io/compiled.py", folder / "_io")
    return folder


def run(package: Path, **environment: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-m", "qstep.kernel"],
        cwd=package.parent,
        env={**os.environ, "PYTHONPATH": str(package.parent), **environment},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_code_is_made_anew_when_what_it_imports_has_changed(package: Path) -> None:
    assert run(package) == "22.0 0"
    assert run(package) == "22.0 1"  # from the cache
    (package / "rules.py").write_text("FOOD = 20.0\n", encoding="utf-8")
    assert run(package) == "42.0 0"
    (package / "other.py").write_text("UNUSED = 2\n", encoding="utf-8")  # not part of the kernel
    assert run(package) == "42.0 1"
    assert len([*package.rglob("*.nbc")]) == 1  # the new file replaced the old one


RECORDS = """\
import os
import numpy as np
from qstep._io.compiled import compiled

@compiled
def least(records, bound):
    found, last = bound, np.int64(0)
    for i in range(len(records)):
        for k in range(len(records)):
            value = records[i].sought * (k + 1) + records[k].sought % (i + 2)
            last = value ^ last if value > found else value - last
            found = min(found, value, last)
    return found + last

@compiled
def sought(records):
    return least(records, 100) + least(records, 200) * least(records[:-1], 300)

for name in os.environ["ORDER"]:
    fields = ["sought", "other"] if name == "a" else ["other", "sought"]
    records = np.zeros(3, [(field, np.int64) for field in fields])
    records["sought"] = 1, 2, 5
    print(sought(records))
"""


def test_code_of_several_processes_is_kept_apart(package: Path) -> None:
    (package / "kernel.py").write_text(RECORDS, encoding="utf-8")
    made = [run(package, ORDER=name) for name in "ab"]
    assert made == ["114", "114"]
    assert run(package, ORDER="ab").split() == made  # from the cache


def test_code_that_numba_keeps_by_itself_goes_stale(package: Path) -> None:
    kernel = package / "kernel.py"
    plain = kernel.read_text(encoding="utf-8").replace("@compiled", "@njit(cache=True)")
    kernel.write_text(f"from numba import njit\n{plain}", encoding="utf-8")
    assert run(package) == "22.0 0"
    (package / "rules.py").write_text("FOOD = 20.0\n", encoding="utf-8")
    assert run(package) == "22.0 1"


def test_settings_of_numba_hold(package: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    assert run(package, NUMBA_CACHE_DIR=str(place)) == "22.0 0"
    assert len([*place.rglob("*.nbc")]) == 1
    kernel = package / "kernel.py"
    plain = kernel.read_text(encoding="utf-8").replace(", sum(pay.stats.cache_hits.values())", "")
    kernel.write_text(plain, encoding="utf-8")
    assert run(package, NUMBA_DISABLE_JIT="1") == "22.0"


def test_read_only_installation_caches_elsewhere_or_nowhere(package: Path, tmp_path: Path) -> None:
    for name in ("_io/cache.py", "errors.py", "_io/files.py"):
        shutil.copy(PACKAGE / name, package / name)
    occupied = package / "__pycache__"  # a plain file, in which not even root can create files
    occupied.touch()
    nowhere = {"XDG_CACHE_HOME": str(occupied), "HOME": str(occupied)}
    assert run(package, QSTEP_CACHE=str(occupied), **nowhere) == "22.0 0"
    place = tmp_path / "cache"
    assert run(package, QSTEP_CACHE=str(place), **nowhere) == "22.0 0"
    assert run(package, QSTEP_CACHE=str(place), **nowhere) == "22.0 1"
    assert len([*place.rglob("*.nbc")]) == 1


def test_code_kept_for_types_of_a_module_that_is_gone_is_made_anew(package: Path) -> None:
    assert run(package) == "22.0 0"
    (index,) = (package / "__pycache__").glob("kernel.pay*.nbi")
    version = pickle.dumps(pickle.loads(index.read_bytes()))
    index.write_bytes(version + b"cqstep.gone\nGames\n.")
    assert run(package) == "22.0 0"
    assert run(package) == "22.0 1"


def test_code_that_cannot_be_kept_runs(package: Path) -> None:
    kernel = package / "kernel.py"
    full = (
        "from numba.core.caching import IndexDataCacheFile\n"
        "def full(*_):\n"
        "    raise OSError(28, 'No space left on device')\n"
        "IndexDataCacheFile.save = full\n"
    )
    kernel.write_text(full + kernel.read_text(encoding="utf-8"), encoding="utf-8")
    assert run(package) == "22.0 0"


RACE = """\
import sys, time
from numba.core.caching import IndexDataCacheFile
from qstep._io.compiled import compiled
before, after = map(float, sys.argv[2:])
plain = IndexDataCacheFile._save_index
def slow(self, overloads):
    time.sleep(before)
    plain(self, overloads)
    time.sleep(after)
IndexDataCacheFile._save_index = slow
@compiled
def length(values):
    return len(values)
print(length((1,) * int(sys.argv[1])), flush=True)
"""
"""Waits between choosing a file's name, entering it into the index, and writing the file."""


def test_two_processes_that_compile_at_once_do_not_mix_up_their_code(package: Path) -> None:
    (package / "race.py").write_text(RACE, encoding="utf-8")

    def started(length: float, before: float = 0, after: float = 0) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "qstep.race", f"{length:g}", str(before), str(after)],
            cwd=package.parent,
            env={**os.environ, "PYTHONPATH": str(package.parent)},
            stdout=subprocess.PIPE,
            text=True,
        )

    at_once: list[tuple[float, ...]] = [(2, 0.5, 2.0), (3, 1.0, 0.0)]
    for lengths in (at_once, [(2,), (3,)]):
        processes = [started(*given) for given in lengths]
        answers = [process.communicate()[0].strip() for process in processes]
        assert answers == ["2", "3"]


def test_cache_of_compiled_is_where_the_machine_code_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", "")
    assert cache_of_compiled() == PACKAGE / "_io/__pycache__"

    def refuse(*_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("numba.core.dispatcher.FunctionCache", refuse)
    assert cache_of_compiled() is None


def test_no_other_module_keeps_machine_code() -> None:
    users = [path for path in PACKAGE.rglob("*.py") if "cache=True" in path.read_text("utf-8")]
    assert users == []


def test_arrays_that_do_not_overlap_are_told_to_the_compiler() -> None:
    """Without noalias, the loops of the compiled agent model are not vectorized."""

    def copy(a, b):
        for k in range(len(a)):
            a[k] = b[k]

    for noalias in (False, True):
        made = compiled(noalias=noalias)(copy)
        made._cache = NullCache()  # cached code cannot be inspected
        made.compile("void(int32[::1], int32[::1])")
        (text,) = made.inspect_llvm().values()
        (head,) = (
            line for line in text.splitlines() if line.startswith("define") and "arg.a.4" in line
        )
        assert ("noalias" in head.split("arg.a.0")[1]) == noalias
