"""The documents are accurate: everything they name exists, and everything they show runs."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest

from qstep import cli, envs
from qstep.deep.algorithms import preset_of
from qstep.errors import QStepError
from qstep.spec.agents import CIRCUITS, Acting
from qstep.spec.config import Config
from qstep.spec.integer_worlds import INTEGER_WORLDS
from qstep_bench import systems
from qstep_fpga import board
from qstep_rtl import sources

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    p.relative_to(ROOT).as_posix() for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
)
COMMANDS_IN = [page for page in PAGES if page != "docs/development-log.md"] + ["fpga/README.md"]
COMMANDS_IN.remove("docs/python.md")  # its docstrings use `train --metrics` as an option's name
INVENTED = {"orangecrab", "tank:Tank-v0"}
"""Names that pages invent: the board in docs/boards.md and the environment in docs/features.md."""
SVG = "http://www.w3.org/2000/svg"
MOST_PICTURE_BYTES = 300_000
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the fenced code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", read(name), re.MULTILINE | re.DOTALL)


def commands_in(text: str) -> list[str]:
    """Return every command in a page's code blocks and prose, each on one line.

    A remark follows a # or two spaces. In prose, two words such as `qstep build` are only a name, and
    longer texts are commands.
    """
    text = re.sub(r" *\\\n *", " ", text)
    fenced = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).splitlines()
    indented = [line for line in text.splitlines() if line.startswith("    ")]
    prose = re.sub(r"^```.*?^```|^    .*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]
    found = []
    for line in [*fenced, *indented, *(span for span in spans if span.count(" ") > 1)]:
        for command in re.split(r"#|\s{2,}", line.strip())[0].split("&&"):
            plain = re.sub(r"^([A-Z_]+=\S* )*(\.venv/bin/)?", "", command.strip())
            if plain.split(" ")[0] in {"make", "pytest", "qstep"} or plain.startswith("python -m"):
                found.append(plain)
    return found


def documented_commands() -> list[str]:
    return sorted({command for page in COMMANDS_IN for command in commands_in(read(page))})


def complaint(command: str) -> str:
    """Return what is wrong with a documented command, or an empty string."""
    # In a synopsis, [--seeds N] is an optional argument.
    program, *words = shlex.split(re.sub(r"\bN\b", "1", re.sub(r"[][]", "", command)))
    if program == "make":
        unknown = [word for word in words if "=" not in word and word not in TARGETS]
        return f"no such target: {unknown}" if unknown else ""
    if program == "pytest":
        missing = [word for word in words if word.endswith(".py") and not (ROOT / word).exists()]
        return f"no such file: {missing}" if missing else ""
    if program == "python":
        return "" if importlib.util.find_spec(words[1]) else f"no such module: {words[1]}"
    try:
        return wrong_names(parsed(words))
    except click.exceptions.Exit:  # raised by --help
        return ""
    except click.UsageError as error:
        return error.format_message()


def parsed(words: list[str]) -> dict[str, Any]:
    """Return the parameters that `qstep` would pass to the command for these arguments."""
    group = click.Context(cli._qstep, info_name="qstep")
    _, command, rest = cli._qstep.resolve_command(group, words)
    assert command is not None
    with command.make_context(command.name, rest, parent=group) as context:  # undoes -v at its end
        return context.params


def check_world(name: str) -> None:
    """Raise an error unless a circuit or an environment of that name exists."""
    if name.endswith(CIRCUITS):
        sources.circuit(Config(2, 2, acting=Acting(world=name)))
    elif name not in INTEGER_WORLDS:
        envs.make(name, 0)


def wrong_names(params: dict[str, Any]) -> str:
    """Return the board, environment or backend among the arguments that does not exist."""
    boards = [*params.get("boards", ()), params.get("board")]
    checks: list[tuple[Any, Callable[[str], object]]] = [
        *((name, board.load) for name in boards),
        (params.get("env_id"), envs.make_any if params.get("tiles") else check_world),
        (params.get("environment"), preset_of),
        (params.get("backend"), systems.find),
    ]
    for name, check in checks:
        # An upper-case name such as BOARD is a placeholder.
        if name is not None and not name.isupper() and name not in INVENTED:
            try:
                check(name)
            except QStepError as error:
                return str(error)
    return ""


@pytest.mark.parametrize("command", documented_commands())
def test_documented_command_exists(command: str) -> None:
    assert complaint(command) == ""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make coffee", "no such target: ['coffee']"),
        ("pytest tb/coffee.py", "no such file: ['tb/coffee.py']"),
        ("python -m qstep.coffee", "no such module: qstep.coffee"),
        ("qstep coffee", "No such command 'coffee'."),
        ("qstep --sugar", "No such option '--sugar'."),
        ("qstep doctor --sugar", "No such option '--sugar'."),
        ("qstep dqn snake --code slow", "'slow' is not one of 'plain', 'fast'."),
        ("qstep build [--seeds N]", "Missing argument 'BOARD'."),
        ("qstep bench --system coffee", "'coffee' is not one of 'gridworld'"),
        ("qstep dqn coffee", "coffee: no such environment"),
        ("qstep train coffee", "coffee: no such environment"),
        ("qstep train coffee.sv", "acting.world is 'coffee.sv'; there is no such file"),
        ("qstep profile coffee", "unknown backend 'coffee'"),
        ("qstep explore icebreaker coffee", "board is 'coffee'; known boards: icebreaker"),
    ],
)
def test_wrong_command_is_noticed(command: str, expected: str) -> None:
    assert expected in complaint(command)


def test_commands_are_found_wherever_a_page_has_them() -> None:
    page = """
    qstep bench    a remark
    X=1 .venv/bin/qstep build x && cp x y  # another

1. A list has
       make coffee
   and prose `qstep dqn
   snake`, but `qstep dqn` is a name.

```sh
pytest -q
```
```text
qstep: an output
```
"""
    found = ["pytest -q", "qstep bench", "qstep build x", "make coffee", "qstep dqn snake"]
    assert commands_in(page) == found


def test_nothing_is_installed_by_a_name_that_is_not_on_pypi() -> None:
    sources = [path for room in ("sw", "sim", "fpga") for path in (ROOT / room).rglob("*.py")]
    texts = {str(path): path.read_text(encoding="utf-8") for path in sources}
    texts |= {page: read(page) for page in COMMANDS_IN}
    named = re.compile(r"pip\s+install\s+['\"]?qstep\b")
    assert [place for place, text in texts.items() if named.search(text)] == []


def test_slang_is_told_to_use_one_thread_as_webassembly_has_no_others() -> None:
    assert [
        page for page in COMMANDS_IN if re.search("read_slang(?! --threads 1)", read(page))
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", read(page))
    assert [
        target for target in targets if not (ROOT / page).parent.joinpath(target).exists()
    ] == []


def test_index_leads_to_every_page_in_the_order_of_the_site() -> None:
    assert "](docs/index.md)" in read("README.md")
    text = read("docs/index.md")
    lists = re.findall(r"^```{toctree}\n:hidden:\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    site = [name for entry in lists for name in re.findall(r"^[\w-]+$", entry, re.MULTILINE)]
    links = [Path(link).stem for link in re.findall(r"\]\(([\w./-]+)\)", text)]
    assert links == site
    pages = {path.stem for kind in ("md", "ipynb") for path in ROOT.glob(f"docs/*.{kind}")}
    assert {*links, "index"} == pages


def test_python_example_of_the_readme_uses_public_names_only() -> None:
    script, example = blocks("README.md", "python")
    modules = re.findall(r"^(?:from|import) (\S+)", script + example, re.MULTILINE)
    assert modules == ["gymnasium", "qstep", "qstep", "qstep"]
    assert "qstep.train(" in script
    assert "qstep.open(" in example


@pytest.mark.slow
def test_script_of_the_readme_prints_what_its_comments_say(own_folder: Path) -> None:
    pytest.importorskip("torch")
    script, _ = blocks("README.md", "python")
    printed = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    table, network = re.findall(r"\)  # ([\d.]+)$", script, re.MULTILINE)
    assert printed[0] == table
    assert float(printed[1]) > 0.5 * float(network)  # other CPUs add in another order
    assert {path.name for path in own_folder.iterdir()} == {"lake.png", "runs"}


def broken_picture(path: Path) -> str:
    """Return what is wrong with a picture of a page, or an empty string."""
    if not path.is_file():
        return "absent"
    if path.stat().st_size > MOST_PICTURE_BYTES:
        return f"{path.stat().st_size:,} bytes"
    if path.suffix == ".png":
        return "" if path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") else "not a PNG"
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        return str(error)
    if root.tag != f"{{{SVG}}}svg" or "viewBox" not in root.attrib:
        return "no SVG with a viewBox"
    links = [
        value
        for element in root.iter()
        for name, value in element.attrib.items()
        if name.endswith("href") and not value.startswith("#")
    ]
    return f"needs {links[0]}" if links else ""


def pictures_of(page: str) -> list[tuple[str, str]]:
    """Return the pictures that a page shows."""
    return re.findall(r"""(?:src|srcset)="([^"]+)"|!\[[^]]*\]\(([^)]+)\)""", read(page))


def test_pictures_of_the_readme_are_whole_and_described() -> None:
    names = [tag or link for tag, link in pictures_of("README.md")]
    assert {"docs/images/result-light.png", "docs/images/blocks.svg"} <= set(names)
    assert {name: broken_picture(ROOT / name) for name in names} == dict.fromkeys(names, "")
    images = re.findall(r"<img [^>]*>", read("README.md"))
    assert [image for image in images if not re.search(r'alt="[^"]{20,}"', image)] == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.svg", None, "absent"),
        ("a.svg", "<svg", "unclosed token"),
        ("a.svg", "<svg viewBox='0 0 1 1'/>", "no SVG with a viewBox"),
        ("a.svg", f"<svg xmlns='{SVG}'/>", "no SVG with a viewBox"),
        ("a.svg", f"<svg xmlns='{SVG}' viewBox='0 0 1 1'><a href='x.js'/></svg>", "needs x.js"),
        ("a.png", "PNG", "not a PNG"),
        ("a.png", " " * (MOST_PICTURE_BYTES + 1), "300,001 bytes"),
    ],
)
def test_lost_picture_is_found(tmp_path: Path, name: str, text: str | None, expected: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert expected in broken_picture(tmp_path / name)


def printed_and_said(page: str) -> tuple[Any, Any]:
    """Return the table printed by a page's example, and the table given in its prose."""
    *_, example = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    rows = [
        [float(entry) for entry in re.findall(r"[^][ ]+", row)]
        for row in answer.stdout.splitlines()
    ]
    said = re.search(r"`(\[\[.*?\]\])`", page[page.index(example) :])
    assert said is not None
    return rows, json.loads(said[1])


@pytest.mark.rtl
def test_python_example_of_the_readme_prints_what_the_readme_says() -> None:
    printed, said = printed_and_said(read("README.md"))
    assert printed == said


@pytest.mark.parametrize(
    ("before", "after"),
    [("reward=[-1.0, 1.0]", "reward=[-2.0, 1.0]"), ("[0, 0, 0, -0.5]", "[0, 0, 0, 0.5]")],
    ids=["example", "prose"],
)
def test_example_that_prints_something_else_is_noticed(before: str, after: str) -> None:
    page = read("README.md").replace('"sim:"', '"model:"')
    assert page.count(before) == 1
    printed, said = printed_and_said(page.replace(before, after))
    assert printed != said
