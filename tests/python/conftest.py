"""What the tests share: small scenarios, and a way to call the command line as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from outside import Outside

# Commands are called by the hundred, and each would compile the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SMALL = """\
name = "small"
duration = "6s"
warmup = "1s"
interval = "1s"
marking = false
topology = { kind = "dumbbell", rate = "5Mbps", delay = "10ms", queue = { kind = "red", buffer = "40 packets" } }

[flows.bulk]
count = 4
rtt = ["40ms", "80ms"]

[record.queue]
link = "bottleneck"
probes = ["queue", "average"]
every = "50ms"
"""


#: By its packets a run has a fiftieth of a chunk's work, so that 500 of them make several chunks. It takes 2 ms.
SHORT = """
duration = "100ms"
topology = { kind = "dumbbell", rate = "1Gbps", delay = "1ms", queue = { kind = "red", buffer = "40 packets" } }
flows.bulk = { rtt = "20ms", tcp = { window_cap = "8 packets" }, start = { kind = "uniform", to = "1ms" } }
"""


def of_study(study: str, module: str) -> ModuleType:
    """A module of the code that a study brings, such as `measures`; what it registers is there."""
    from tailback.study.load import load

    return load(study).code.module(module)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file that runs in milliseconds."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


class Cli:
    """`tailback` as a process of its own."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.command = [sys.executable, "-m", "tailback"]

    def __call__(self, *args: object, **kw: object) -> subprocess.CompletedProcess[str]:
        kw = {"capture_output": True, "text": True, "timeout": 120, "cwd": self.cwd, "encoding": "utf-8", **kw}
        return subprocess.run([*self.command, *map(str, args)], **kw)  # type: ignore[call-overload]

    def start(self, *args: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.command, *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.cwd,
            env=os.environ,
        )


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A live run of this test leaves nothing."""
    from realnet import watched

    monkeypatch.setenv("TAILBACK_TEST", str(os.getpid()))
    with watched():
        yield


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A machine and an outside with a web server, for tests of `tailback behind`."""
    from outside import outside_with_web

    with outside_with_web(tmp_path_factory.mktemp("outside")) as made:
        yield made
