"""Take the documentation's screenshot of the `qstep live` page: python -m tools.live_picture."""

from __future__ import annotations

import io
import signal
import sys
import time
from pathlib import Path

from PIL import Image
from tb.browser import chromium
from tb.sw.test_live import Program

__all__ = ["main"]

PICTURE = Path(__file__).parents[1] / "docs/images/live.png"
_WIDTH, _HEIGHT = 1400, 1143
_SECONDS = 9
_STEER = "Bokeh.documents[0].get_model_by_name('epsilon').value = 0.02"


def main() -> int:
    """Let eight agents learn, lower their epsilon, and write the picture; return the exit status."""
    program = Program("gridworld-8x8", "--speed", "1000", "--seed", "3")
    try:
        with chromium(_WIDTH, _HEIGHT) as browser:
            browser.get(program.address)
            time.sleep(_SECONDS)
            browser.execute_script(_STEER)
            time.sleep(_SECONDS)
            shot = browser.get_screenshot_as_png()
    finally:
        program.ends(signal.SIGTERM)
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    picture.save(PICTURE, optimize=True)
    print(f"{PICTURE} {picture.size} {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
