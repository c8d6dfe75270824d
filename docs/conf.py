"""The documentation as a site, by Sphinx: make docs.

The source folder is the repository, so that the links of README.md and docs/*.md are the same on a page
of the site and in a browser of the repository. Warnings are errors: a link, an anchor or a name that
leads nowhere fails the build. Addresses outside are not visited.
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

smartquotes = False  # an option begins with two hyphens

nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!qstep).*"),  # what others document: there may be no network to look it up
    ("py:.*", r"qstep\..*\.(Answer|Item|Result)"),  # names of types in annotations
]

myst_heading_anchors = 4

nb_execution_mode = "force"  # the notebook runs each time, from top to bottom
nb_execution_show_tb = True  # where it fails, which is a warning
nb_execution_timeout = 120

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
numpydoc_show_class_members = False  # autodoc lists them

html_theme = "furo"
html_title = "QStep"
html_show_copyright = False
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["wide.css"]


def _copy_pictures(app: Sphinx, error: Exception | None) -> None:
    """Copy the pictures that README.md shows by HTML tags, which Sphinx does not look into."""
    if error is None:
        pictures = Path(app.outdir) / "docs/images"
        shutil.copytree(Path(__file__).parent / "images", pictures, dirs_exist_ok=True)


def _from_template(app: Sphinx, page: str, source: list[str]) -> None:
    """Show the Python reference by autodoc, with links; in the repository it is plain Markdown."""
    template = Path(__file__).parent / "templates/python.md"
    if page == "docs/python":
        source[0] = template.read_text(encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register what this configuration adds to a build."""
    app.connect("source-read", _from_template)
    app.connect("build-finished", _copy_pictures)
