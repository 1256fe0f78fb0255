"""The lab's server: who is answered, and who is not."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

from tailback.apps.lab.frames import unpack

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
client = pytest.importorskip("websockets.sync.client")

SCENARIO = """\
duration = "3s"
link.bottleneck = { from = "a", to = "b", rate = "5Mbps", delay = "10ms", queue = "droptail" }
flows.bulk = { count = 2 }
"""


@dataclass
class Server:
    port: int
    token: str

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.putrequest("GET", path, skip_host=True)
            for name, value in {"Host": self.host, **headers}.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def talk(self, **kw: Any) -> Any:
        kw = {"origin": f"http://{self.host}", "proxy": None, "max_size": None, **kw}
        return client.connect(f"ws://{self.host}/talk", **kw)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("lab")
    (folder / "s.toml").write_text(SCENARIO)
    process = Cli(folder).start("lab", "s.toml", "--beside", "codel", "--no-browser")
    assert process.stdout is not None and process.stderr is not None
    address = process.stdout.readline()
    found = re.fullmatch(r"the lab is at http://127\.0\.0\.1:(\d+)/#token=([\w-]{20,})\n", address)
    assert found, address + process.stderr.read()
    yield Server(int(found[1]), found[2])
    process.terminate()
    out, errors = process.communicate(timeout=10)
    # Nothing that the tests below asked for is in a log.
    assert out == "" and errors.strip() == "Ctrl-C ends it"


def test_the_doorstep_knows_nothing(server: Server) -> None:
    status, text, headers = server.get("/")
    assert status == 200 and server.token not in text and "droptail" not in text and len(text) < 3000
    assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy


def test_the_page_is_for_the_token_alone(server: Server) -> None:
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {server.token}"}):
        status, text, _ = server.get("/page", **given)
        assert status == 401 and "droptail" not in text and len(text) < 200
    assert server.get(f"/page?token={server.token}")[0] == 401
    status, text, _ = server.get("/page", Authorization=f"Bearer {server.token}")
    assert status == 200 and json.loads(text)["hello"]["state"]["beside"]["kind"] == "codel"


@pytest.mark.parametrize("path", ["/page", "/lab.js", "/../start.toml", "/talk", "/docs", "/openapi.json"])
def test_nothing_is_behind_other_paths(server: Server, path: str) -> None:
    assert server.get(path)[0] in (401, 404)


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1", "127.0.0.1:1", "lab.example:80", ""])
def test_a_foreign_host_is_refused(server: Server, host: str) -> None:
    status, text, _ = server.get("/page", Host=host, Authorization=f"Bearer {server.token}")
    assert status in (400, 403) and "droptail" not in text


@pytest.mark.parametrize("origin", ["http://example.com", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(server: Server, origin: str) -> None:
    status, text, _ = server.get("/page", Origin=origin, Authorization=f"Bearer {server.token}")
    assert status == 403 and "droptail" not in text
    with pytest.raises(Exception, match="403"), server.talk(origin=origin):
        pass


def test_a_socket_without_an_origin_is_refused(server: Server) -> None:
    with pytest.raises(Exception, match="403"), server.talk(origin=None):
        pass


@pytest.mark.parametrize("first", ["", "wrong", "{}", b"\x00\x01"])
def test_a_socket_without_the_token_is_closed(server: Server, first: str | bytes) -> None:
    with server.talk() as ws:
        ws.send(first)
        with pytest.raises(Exception, match="1008"):
            ws.recv(timeout=10)


def test_only_the_loopback_interface_answers(server: Server) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address")
        own = probe.getsockname()[0]
    assert own != "127.0.0.1"
    with pytest.raises(OSError):
        socket.create_connection((own, server.port), timeout=2).close()
    with pytest.raises(OSError):
        socket.create_connection(("::1", server.port), timeout=2).close()


def test_a_page_gets_pictures_packets_and_refusals(server: Server) -> None:
    state = json.loads(server.get("/page", Authorization=f"Bearer {server.token}")[1])["hello"]["state"]
    with server.talk() as ws:
        ws.send(server.token)

        def answer(**message: Any) -> dict[str, Any]:
            ws.send(json.dumps(message))
            return unpack(ws.recv(timeout=20))[0]

        assert answer(do="state", input=1, mode="full", columns=500, state=state)["input"] == 1
        assert answer(do="packets", state=state, side=1, at=1.5)["queue"] == "codel"
        wrong = {**state, "document": {**state["document"], "duration": "soon"}}
        refused = answer(do="state", input=2, mode="full", columns=500, state=wrong)
        assert refused["do"] == "refused" and '"soon"' in refused["text"] and "= help:" in refused["text"]
        assert answer(do="tour", name="bufferbloat")["title"] == "Bufferbloat"
        assert answer(do="figure", what="queue", kind="svg", state=state)["name"] == "queue.svg"


def test_without_the_extra_one_line_says_so(tmp_path: Path, cli: Cli) -> None:
    absent = "import sys; sys.modules['uvicorn'] = None; from tailback.cli import main; main(['lab', '--no-browser'])"
    r = subprocess.run([sys.executable, "-c", absent], capture_output=True, text=True, timeout=60, check=False)
    said = "error: the lab needs uvicorn: pip install 'tailback[lab]'\n"
    assert (r.returncode, r.stdout, r.stderr) == (2, "", said)
    # A broken one is found only after the address is printed.
    (tmp_path / "uvicorn.py").write_text("raise ImportError('no', name='uvicorn')\n")
    r = cli("lab", "--no-browser", cwd=tmp_path)
    assert r.returncode == 2 and r.stderr == "Ctrl-C ends it\n" + said
    (tmp_path / "uvicorn.py").write_text("raise ImportError('no symbol')\n")
    r = cli("lab", "--no-browser", cwd=tmp_path)
    assert r.returncode == 2 and "the lab needs libraries that can be imported (no symbol): pip" in r.stderr


def test_an_occupied_port_is_said(server: Server, cli: Cli) -> None:
    r = cli("lab", "--no-browser", "--port", server.port)
    assert r.returncode != 0 and "Traceback" not in r.stderr and str(server.port) in r.stderr
