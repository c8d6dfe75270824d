"""Configuration of the documentation site, which Sphinx builds: make docs.

The source folder is the repository root, so the links in README.md and docs/*.md work both on the site
and in the repository. Warnings are errors: a broken link, anchor or name fails the build. External
links are not checked.
"""

import shutil
from pathlib import Path

from sphinx.application import Sphinx

import qstep

project = "QStep"
version = release = qstep.__version__
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/**",
    "examples/prefetcher/README.md",
    "fpga/README.md",
    "tb/TESTPLAN.md",
    "tiny_tapeout/docs/info.md",
]
exclude_patterns = [".venv", "build", "docs/templates"]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "numpydoc",
]

smartquotes = False  # keep the two hyphens of options

nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!qstep).*"),  # documented elsewhere; the build may have no network
    ("py:.*", r"qstep\..*\.(Answer|Item|Result)"),  # type variables in annotations
]

myst_heading_anchors = 4

nb_execution_mode = "force"  # run the notebook in every build
nb_execution_show_tb = True  # print the failing cell; a failure is a warning
nb_execution_timeout = 120

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
numpydoc_show_class_members = False  # autodoc lists the members

html_theme = "furo"
html_title = "QStep"
html_show_copyright = False
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["wide.css"]


def _copy_pictures(app: Sphinx, error: Exception | None) -> None:
    """Copy the images that README.md includes with HTML tags, which Sphinx does not parse."""
    if error is None:
        pictures = Path(app.outdir) / "docs/images"
        shutil.copytree(Path(__file__).parent / "images", pictures, dirs_exist_ok=True)


def _from_template(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the plain Markdown of the Python reference with autodoc directives, which add links."""
    template = Path(__file__).parent / "templates/python.md"
    if page == "docs/python":
        source[0] = template.read_text(encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the handlers for Sphinx's events."""
    app.connect("source-read", _from_template)
    app.connect("build-finished", _copy_pictures)
