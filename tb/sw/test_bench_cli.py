"""Before `qstep bench` starts measuring, it rejects whatever it cannot measure or write."""

from pathlib import Path

import pytest
from tb.sw.command_line import refused

from qstep.errors import FileFormatError, TorchDeviceError
from qstep_bench import report, systems

FOLDER = "^folder.json: cannot be written: it is a folder$"
ABSENT = r"no device 'abacus' on this machine; it has .*cpu"


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("--json folder.json", FileFormatError, FOLDER),
        ("--html folder.json", FileFormatError, FOLDER),
        ("--plot a.foo", FileFormatError, "'.foo' is not a picture format; use .png, .svg"),
        ("--report absent.json", FileFormatError, "absent.json: is not a build report"),
        ("--system maze", SystemExit, "'maze' is not one of"),
        *(
            (f"--quick --system {system} --torch-device abacus", TorchDeviceError, ABSENT)
            for system in systems.NAMES
        ),
    ],
)
def test_what_cannot_be_measured_or_written_is_refused(
    words: str,
    error: type[BaseException],
    text: str,
    own_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if error is TorchDeviceError:
        pytest.importorskip("torch")
    monkeypatch.setattr(report, "run", lambda *given: pytest.fail("it measured"))
    (own_folder / "folder.json").mkdir()
    refused(f"bench {words}", error, text)
