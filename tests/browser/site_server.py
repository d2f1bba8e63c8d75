"""A plain server of static files that counts what it sends and fails on demand.

It answers as `python -m http.server` does: no compression, no special headers, one
request a connection. A wrong address gets `404.html`, as on hosts for static sites.
"""

import gzip
import threading
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

PREFIX = "/a/b/course/"
LONGEST_WAIT = 60  # seconds, for what should take a moment


@dataclass
class Request:
    """One request: its path without the query, the answer's status and the bytes sent so far."""

    path: str
    status: int = 0
    sent: int = 0


class Handler(SimpleHTTPRequestHandler):
    """Answers one request, by the server's fault for the address or from the folder."""

    server: "SiteServer"
    request_entry: Request

    def do_GET(self) -> None:
        self.request_entry = Request(self.path.partition("?")[0])
        self.wfile = cast(BufferedIOBase, _CountingWriter(self.wfile, self.request_entry))
        with self.server.quiet:
            self.server.requests.append(self.request_entry)
            self.server.active += 1
        try:
            answer = self.server.fault_for(self.request_entry.path) or SimpleHTTPRequestHandler.do_GET
            answer(self)
        finally:
            with self.server.quiet:
                self.server.active -= 1
                self.server.quiet.notify_all()

    def send_response(self, code: int, message: str | None = None) -> None:
        self.request_entry.status = int(code)
        super().send_response(code, message)

    def end_headers(self) -> None:
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        super().end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = Path(self.directory) / PREFIX.strip("/") / "404.html"
        if code == HTTPStatus.NOT_FOUND and page.is_file():
            self.send_bytes(page.read_bytes(), "text/html; charset=utf-8", status=code)
        else:
            super().send_error(code, message, explain)

    def send_bytes(self, body: bytes, content_type: str, status: int = 200, **headers: str) -> None:
        """Send a whole answer; keywords are more headers, such as `content_encoding`."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    @property
    def file(self) -> Path:
        """The file that the request names."""
        return Path(self.translate_path(self.path))

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


Fault = Callable[[Handler], None]


class SiteServer(ThreadingHTTPServer):
    """Serves `root`, where a built site lies under PREFIX, on a free port of this machine."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(root)))
        self.requests: list[Request] = []
        self.headers: dict[str, str] = {}
        self.active = 0
        self.quiet = threading.Condition()
        self._faults: dict[str, Fault] = {}

    @property
    def url(self) -> str:
        """Address of the site's home page."""
        return f"http://127.0.0.1:{self.server_port}{PREFIX}"

    def fail(self, pattern: str, fault: Fault) -> None:
        """Answer paths below PREFIX that match a shell pattern by `fault`."""
        self._faults[PREFIX + pattern] = fault

    def heal(self) -> None:
        """Forget all faults."""
        self._faults.clear()

    def fault_for(self, path: str) -> Fault | None:
        return next((fault for pattern, fault in self._faults.items() if fnmatch(path, pattern)), None)

    def settle(self) -> None:
        """Wait until each request that arrived is answered."""
        with self.quiet:
            if not self.quiet.wait_for(lambda: self.active == 0, timeout=LONGEST_WAIT):
                raise TimeoutError(f"{self.active} requests are still open")

    def reset(self) -> None:
        """Forget faults, headers and requests; called between tests."""
        self.heal()
        self.headers.clear()
        self.settle()
        self.requests.clear()

    def paths(self, pattern: str = "*") -> list[str]:
        """Paths below PREFIX of the requests that match a shell pattern, in order."""
        asked = [request.path.removeprefix(PREFIX) for request in self.requests]
        return [path for path in asked if fnmatch(path, pattern)]

    def bytes_sent(self) -> int:
        """All bytes of all answers, headers included."""
        self.settle()
        return sum(request.sent for request in self.requests)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that closes the connection early is no fault."""


class Held:
    """A fault: send half of the file and the rest after `release`."""

    def __init__(self) -> None:
        self._released = threading.Event()

    def __call__(self, handler: Handler) -> None:
        body = handler.file.read_bytes()
        handler.send_response(200)
        handler.send_header("Content-Type", handler.guess_type(str(handler.file)))
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        half = len(body) // 2
        handler.wfile.write(body[:half])
        self._released.wait(LONGEST_WAIT)
        handler.wfile.write(body[half:])

    def release(self) -> None:
        self._released.set()


def missing(handler: Handler) -> None:
    """No such file."""
    handler.send_error(HTTPStatus.NOT_FOUND)


def busy(handler: Handler) -> None:
    """The server is overloaded."""
    handler.send_bytes(b"Service Unavailable", "text/plain", status=503)


def closed(handler: Handler) -> None:
    """The connection ends without an answer."""
    handler.close_connection = True


def interrupted(handler: Handler) -> None:
    """The connection ends in the middle of the file."""
    body = handler.file.read_bytes()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])


def cut(handler: Handler) -> None:
    """The host holds half of the file, and lets browsers keep that for an hour."""
    body = handler.file.read_bytes()
    handler.send_bytes(body[: len(body) // 2], "application/octet-stream", cache_control="max-age=3600")


def html_page(handler: Handler) -> None:
    """A host of single-page applications: every unknown address is its index page."""
    body = (Path(handler.directory) / PREFIX.strip("/") / "index.html").read_bytes()
    handler.send_bytes(body, "text/html; charset=utf-8")


def kept_html_page(handler: Handler) -> None:
    """The same, and browsers may keep it for an hour."""
    body = (Path(handler.directory) / PREFIX.strip("/") / "index.html").read_bytes()
    handler.send_bytes(body, "text/html; charset=utf-8", cache_control="max-age=3600")


def other_file(handler: Handler) -> None:
    """Bytes of the right length that are no model and no program."""
    body = gzip.compress(bytes(len(gzip.decompress(handler.file.read_bytes()))))
    handler.send_bytes(body, "application/octet-stream")


def declared_gzip(handler: Handler) -> None:
    """A host that sees gzip and declares it, so that the browser unpacks it by itself."""
    handler.send_bytes(handler.file.read_bytes(), "application/octet-stream", content_encoding="gzip")


class _CountingWriter:
    """A connection's writer that adds up what it writes."""

    def __init__(self, writer: Any, entry: Request) -> None:
        self._writer = writer
        self._entry = entry

    def write(self, data: bytes) -> None:
        self._writer.write(data)
        self._entry.sent += len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)
