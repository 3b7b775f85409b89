"""A client of `sialc lsp` over its standard streams: what an editor sends, and what it waits for."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any


class ServerError(Exception):
    """The server answered with an error; `code` is that of JSON-RPC."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = int(error["code"])


class Client:
    """One server, started and initialized. Documents are known by their URIs; positions count from 0."""

    def __init__(self, sialc: Path, *arguments: str, root: Path | None = None, root_uri: str | None = None, cwd: Path | None = None, capabilities: dict[str, Any] | None = None) -> None:
        self.process = subprocess.Popen([sialc, "lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd)
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._id = 0
        self._versions: dict[str, int] = {}
        self._diagnosed: dict[str, int | None] = {}  # versions that the diagnostics are of
        self.slowest = 0.0  # seconds of the slowest answer
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        uri = root.as_uri() if root else root_uri
        self.offers = self.request("initialize", {"processId": None, "rootUri": uri, "capabilities": capabilities or {}})["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream and not stream.closed:
                stream.close()

    # ---- messages
    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream
        while line := stream.readline():
            length = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

    def take(self, timeout: float = 60.0) -> dict[str, Any]:
        """The next message of the server; what it publishes is kept in `diagnostics`."""
        message = self._messages.get(timeout=timeout)
        if message is None:
            raise EOFError(f"the server ended with exit code {self.process.wait()}")
        if message.get("method") == "textDocument/publishDiagnostics":
            uri = message["params"]["uri"]
            self.diagnostics[uri] = message["params"]["diagnostics"]
            self._diagnosed[uri] = message["params"].get("version")
        return message

    def request(self, method: str, params: Any) -> Any:
        self._id += 1
        begin = time.perf_counter()
        self.send({"id": self._id, "method": method, "params": params})
        while (message := self.take()).get("id") != self._id:
            pass
        self.slowest = max(self.slowest, time.perf_counter() - begin)
        if "error" in message:
            raise ServerError(message["error"])
        return message["result"]

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    # ---- documents
    def open(self, uri: str, text: str) -> None:
        self._versions[uri] = 1
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "sial", "version": 1, "text": text}})

    def change(self, uri: str, *changes: dict[str, Any]) -> None:
        self._versions[uri] += 1
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": self._versions[uri]}, "contentChanges": list(changes)})

    def type(self, uri: str, line: int, character: int, text: str) -> None:
        """Inserts text, as typing does."""
        place = {"line": line, "character": character}
        self.change(uri, {"range": {"start": place, "end": place}, "text": text})

    def wait_for_diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """Those of the text as it is now."""
        while self._diagnosed.get(uri) != self._versions[uri]:
            self.take()
        return self.diagnostics[uri]

    def at(self, what: str, uri: str, line: int, character: int, **more: Any) -> Any:
        return self.request(f"textDocument/{what}", {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more})

    def about(self, what: str, uri: str, **more: Any) -> Any:
        return self.request(f"textDocument/{what}", {"textDocument": {"uri": uri}, **more})

    def resident_kib(self) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        return 0

    def stop(self) -> int:
        """Shuts the server down as an editor does; its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(timeout=30)
