"""How long the tasks of a page's main thread take, from the browser's own trace."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

TASK = "RunTask"
THREAD = "CrRendererMain"
CATEGORIES = ["disabled-by-default-devtools.timeline", "__metadata"]


@dataclass
class LongestTask:
    """The longest task while a page was watched, in milliseconds."""

    tasks: int = 0
    wall: float = 0.0  # by the clock: on a busy machine mostly the wait for a processor
    own: float = 0.0  # that the thread was at work


@contextmanager
def watched_tasks(browser: Browser, page: Page) -> Iterator[LongestTask]:
    """Watch the page's main thread; the result is filled in at the end."""
    longest = LongestTask()
    browser.start_tracing(page=page, categories=CATEGORIES)
    try:
        yield longest
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == THREAD
    }
    for event in events:
        if event["name"] == TASK and (event["pid"], event["tid"]) in threads and "tdur" in event:
            longest.tasks += 1
            longest.wall = max(longest.wall, event["dur"] / 1000)
            longest.own = max(longest.own, event["tdur"] / 1000)
