"""The browser of the tests: find an installed one, else install Playwright's own.

    python tests/browser_setup.py              # used by `make test`
    python tests/browser_setup.py --installed  # only say whether one is installed: exit code 0 or 1

The environment variable BROWSER_PATH names a browser of your choice (Chrome, Chromium or Edge).
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

COMMANDS = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
WHAT_NEXT = (
    "Install Chrome or Chromium (on Debian: apt install chromium), or set BROWSER_PATH to the one you have."
)


class BrowserError(Exception):
    """The tests have no browser; the message is the one line that the user sees."""


def find_browser() -> str | None:
    """Return the path of an installed browser; None means that Playwright's own is to be used."""
    named = os.environ.get("BROWSER_PATH")
    if named:
        if not os.access(named, os.X_OK) or not Path(named).is_file():
            raise BrowserError(f"BROWSER_PATH names {named}, which is not a program. {WHAT_NEXT}")
        return named
    on_path = (shutil.which(command) for command in COMMANDS)
    at_home = (place for place in PLACES if Path(place).is_file())
    return next((path for path in (*on_path, *at_home) if path), None)


def install_own_browser() -> str:
    """Install Playwright's Chromium unless it is there and starts; return its path."""
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium

        def starts() -> bool:
            try:
                chromium.launch().close()
            except Error:
                return False
            return True

        if not starts():
            subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
            if not starts():
                raise BrowserError(f"Playwright could not install a browser that starts here. {WHAT_NEXT}")
        return chromium.executable_path


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find or install the browser of the tests.")
    parser.add_argument("--installed", action="store_true", help="only look; exit code 1 if none is there")
    only_look = parser.parse_args(argv).installed
    try:
        browser = find_browser()
        if browser is None and only_look:
            return 1
        print(f"browser of the tests: {browser or install_own_browser()}")
    except BrowserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
