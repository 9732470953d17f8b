# SPDX-License-Identifier: Apache-2.0
"""Makes docs/images/: the list of sessions, and one with metrics and scopes. Usage:
screenshots.py BUILD_DIR."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import lib  # noqa: E402
from browser import Browser  # noqa: E402
from lib import until  # noqa: E402

IMAGES = lib.ROOT / "docs/images"


def main():
    IMAGES.mkdir(exist_ok=True)
    with lib.a_place() as place:
        backend = lib.Backend(place)
        lib.copy_samples(place)
        lib.job(place, 20)
        lib.upload(place, backend.url, "--all-sessions")
        browser = Browser(1280, 860)
        try:
            browser.go(backend.url + "/")
            until(lambda: "demo-job" in browser.text(), "the list")
            browser.screenshot(IMAGES / "sessions.png")
            browser.run("[...document.querySelectorAll('td a')].find("
                        "a => a.innerText === 'demo-job').click()")
            until(lambda: browser.run("return document.querySelectorAll('.plot canvas').length") > 6,
                  "charts")
            browser.screenshot(IMAGES / "session.png")
        finally:
            browser.close()


main()
