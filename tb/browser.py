"""Headless Chromium from Debian, for browser tests of web pages."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

__all__ = ["BrowserMissingError", "chromium", "deep", "requested_hosts"]

_PROGRAMS = ("chromium", "chromedriver")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # CI runs as root in a container, where Chromium's sandbox fails
    "--disable-dev-shm-usage",
    "--disable-background-networking",  # the browser's own requests
    "--disable-component-update",
    "--no-first-run",
)

_DEEP = """
const find = (root, selector) => {
  const found = root.querySelector(selector);
  if (found) return found;
  for (const one of root.querySelectorAll('*')) {
    const inside = one.shadowRoot && find(one.shadowRoot, selector);
    if (inside) return inside;
  }
  return null;
};
let found = document;
for (const selector of arguments) {
  found = found && find(found.shadowRoot || found, selector);
}
return found;
"""


class BrowserMissingError(RuntimeError):
    """Chromium or its driver is not installed."""


@contextmanager
def chromium(width: int = 1360, height: int = 1000) -> Iterator[webdriver.Chrome]:
    """Yield a browser that logs its requests.

    Raises
    ------
    BrowserMissingError
        Chromium or its driver is not installed; the message gives the command that installs it.
    """
    found = {program: shutil.which(program) for program in _PROGRAMS}
    missing = [program for program, path in found.items() if path is None]
    if missing:
        raise BrowserMissingError(
            f"{' and '.join(missing)} not found: apt install chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = str(found["chromium"])
    for option in (*_OPTIONS, f"--window-size={width},{height}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, Service(found["chromedriver"]))
    try:
        yield driver
    finally:
        driver.quit()


def deep(driver: webdriver.Chrome, *selectors: str) -> Any:
    """Return the element at the end of a path of CSS selectors, which may enter shadow trees.

    Each selector is searched inside the previous selector's element. Return None if no element matches.
    """
    return driver.execute_script(_DEEP, *selectors)


def requested_hosts(driver: webdriver.Chrome) -> set[str | None]:
    """Return the hosts of all requests since the last call, including websockets."""
    urls = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls.append(message["params"]["request"]["url"])
        elif message["method"] == "Network.webSocketCreated":
            urls.append(message["params"]["url"])
    return {urlsplit(url).hostname for url in urls if not url.startswith(("data:", "blob:"))}
