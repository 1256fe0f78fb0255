"""Scripts in packetdrill's language: ours are played to the simulator and, where it may be, to this machine's kernel.

`TAILBACK_MUTANTS` says how many damaged scripts are tried, `TAILBACK_SCRIPTS` names a folder of more scripts to damage.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from realnet import real

from tailback.apps.conformance.packetdrill.code import evaluate
from tailback.apps.conformance.packetdrill.run import on_simulator
from tailback.apps.conformance.packetdrill.script import Refused

SCRIPTS = Path(__file__).resolve().parents[1] / "reference" / "packetdrill"
FILES = sorted(SCRIPTS.glob("*.pkt"))
#: For an end that this kernel may be too old for.
ACCURATE = sorted((SCRIPTS.parent / "accurate-ecn").glob("*.pkt"))
MUTANTS = int(os.environ.get("TAILBACK_MUTANTS", "300"))
MORE = os.environ.get("TAILBACK_SCRIPTS", "")
SEED = 39
PCAPNG = bytes.fromhex("0a0d0d0a")
BEGIN = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < S 0:0(0) win 40000 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 40000
+0 accept(3, ..., ...) = 4
"""


def conform(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailback", "conform", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


def written(folder: Path, text: str, name: str = "mine.pkt") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("file", FILES + ACCURATE, ids=lambda f: f.stem)
def test_our_scripts_hold(file: Path) -> None:
    verdict = on_simulator(file, None, None)
    assert (verdict.result, verdict.said) == ("holds", "")


@pytest.mark.slow
@real
def test_this_kernel_does_the_same(tmp_path: Path) -> None:
    done = conform("--beside", str(SCRIPTS), "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert [row["as_the_kernel"] for row in found["scripts"]] == [True] * len(FILES), done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("step", "line", "expected", "found"),
    [
        (
            "+0 write(4, ..., 3000) = 3000\n+0 > P. 1:4001(4000) ack 1",
            9,
            "P. 1:4001(4000) ack 1",
            "sent . 1:3001(3000)",
        ),
        ("+0 write(4, ..., 1000) = 1000\n+.1 > P. 1:1001(1000) ack 1", 9, "at 300 ms", "sent at 200 ms, tolerance"),
        ("+0 > . 1:1(0) ack 1", 8, ". 1:1(0) ack 1", "nothing was sent until 204 ms"),
        ("+0 %{ assert tcpi_snd_cwnd == 11 }%", 8, "tcpi_snd_cwnd == 11", "tcpi_snd_cwnd = 10"),
        ("+0 read(4, ..., 100) = 100", 8, "read(...) = 100", "it still blocks"),
        ("+0 < F. 1:1(0) ack 1 win 40000\n+0 > . 1:1(0) ack 3", 9, ". 1:1(0) ack 3", "it acknowledges 2"),
        ("+0 < E. 1:1(0) ack 1 win 9\n+0 write(4, ..., 1) = 1\n+0 > [ect0] P. 1:2(1) ack 1", 10, "[ect0]", "not-ect"),
    ],
)
def test_a_step_that_does_not_hold(tmp_path: Path, step: str, line: int, expected: str, found: str) -> None:
    verdict = on_simulator(written(tmp_path, BEGIN + step + "\n"), None, tmp_path / "out")
    assert (verdict.result, verdict.line) == ("differs", line), verdict.said
    assert expected in verdict.expected
    assert found in verdict.found
    assert Path(verdict.capture).read_bytes()[:4] == PCAPNG


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("`./missing.sh`\n" + BEGIN, "line 1, `./missing.sh`: this included file is missing (looked for "),
        ("`rm -rf /`\n" + BEGIN, "line 1, `rm -rf /`: no command is run"),
        (
            "`sysctl -q net.ipv4.tcp_odd=1`\n" + BEGIN,
            "line 1, `net.ipv4.tcp_odd`: senders here do not have this setting",
        ),
        ("`sysctl -q net.ipv4.tcp_sack=7`\n" + BEGIN, "of this setting only 0, 1 can be expressed"),
        (BEGIN + "+0 %{ import os }%\n", "line 8, `import`"),
        (BEGIN + "+0 %{ assert tcpi_odd == 1 }%\n", "line 8, `tcpi_odd`: this subject does not show it"),
        (BEGIN + "+0 ioctl(4, FIONBIO, [1]) = 0\n", "line 8, `ioctl`: of ioctl only SIOCINQ is played"),
        (BEGIN + "+0 < icmp unreachable frag_needed mtu 1200 [1:1(0)]\n", "only TCP segments are played"),
        ("--ip_version=ipv6\n" + BEGIN, "line 1, `--ip_version=ipv6`: scripts are only played over IPv4"),
        ("--mtu=many\n" + BEGIN, "line 1, `--mtu=many`: write a whole number from 0 to 65535"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1") + BEGIN, "line 1"),
        ("", "there is no step"),
    ],
)
def test_what_cannot_be_expressed_is_said_with_line_and_word(tmp_path: Path, text: str, said: str) -> None:
    verdict = on_simulator(written(tmp_path, text), None, tmp_path / "out")
    assert verdict.result == "cannot be expressed"
    assert said in verdict.said
    assert not (tmp_path / "out").exists(), "nothing was played"


def test_an_included_file_is_found_in_another_folder(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    written(tmp_path / "more", "sysctl -q net.ipv4.tcp_timestamps=0\n", "settings.sh")
    file = written(tmp_path, "`../common/settings.sh`\n" + BEGIN)
    assert on_simulator(file, None, None).result == "cannot be expressed"
    assert on_simulator(file, tmp_path / "more", None).result == "holds"


def test_the_command_counts_and_leaves_a_capture(tmp_path: Path) -> None:
    written(tmp_path, BEGIN, "a.pkt")
    assert conform("a.pkt", cwd=tmp_path).returncode == 0
    written(tmp_path, BEGIN + "+0 %{ assert tcpi_snd_cwnd == 11 }%\n", "b.pkt")
    written(tmp_path, "`ls`\n" + BEGIN, "c.pkt")
    done = conform(".", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: scripts that do not hold: 1 of 3; scripts that cannot be expressed: 1 of 3\n"
    lines = done.stdout.splitlines()
    assert [line.split() for line in lines[1:3]] == [["a.pkt", "holds"], ["b.pkt", "differs", "at", "line", "8"]]
    assert f"packets in: {Path('captures', 'b.pcapng')}" in done.stdout
    assert "holds: 1, differs: 1, cannot be expressed: 1" in lines
    assert (tmp_path / "captures" / "b.pcapng").read_bytes()[:4] == PCAPNG
    document = json.loads(conform("a.pkt", "b.pkt", "c.pkt", "--json", cwd=tmp_path).stdout)
    assert document["counts"] == {"holds": 1, "differs": 1, "cannot be expressed": 1}
    assert [(v["result"], v["line"]) for v in document["scripts"]] == [
        ("holds", 0),
        ("differs", 8),
        ("cannot be expressed", 1),
    ]
    alone = conform("c.pkt", cwd=tmp_path)
    assert alone.returncode == 2
    assert alone.stderr.startswith("error: scripts that cannot be expressed: 1 of 1; each says line and reason:")


def test_a_control_is_meant_and_not_a_folder_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "reno").mkdir()
    written(tmp_path / "reno", BEGIN, "a.pkt")
    assert "rfc5681/initial-window" in conform("reno", "--only", "rfc5681/initial-window", cwd=tmp_path).stdout
    assert "a.pkt  holds" in conform("reno/", cwd=tmp_path).stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pkt")
    assert "this folder has no scripts" in conform(".", cwd=tmp_path).stderr
    assert "pipe.pkt: there is no such file" in conform("pipe.pkt", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.pkt"], "nothing.pkt: there is no such file"),
        (["."], "this folder has no scripts of packetdrill (FILE.pkt)"),
        (["a.pkt", "reno"], "reno: beside scripts of packetdrill give only scripts (FILE.pkt) and folders"),
        (["a.pkt", "--queue", "codel"], "are not for scripts of packetdrill"),
        (["a.pkt", "--kernel", "cubic"], "are not for scripts of packetdrill"),
        (["--kernel", "a.pkt", "--beside"], "--beside plays scripts to this kernel too; leave --kernel out"),
        (["reno", "--beside"], "--beside and --include are for scripts of packetdrill (FILE.pkt)"),
        (["a.pkt", "--only", "odd"], "no script has 'odd' in its name"),
        (["reno", "cubic"], "give one congestion control, or scripts of packetdrill; got reno, cubic"),
    ],
)
def test_wrong_words_have_one_message(tmp_path: Path, words: list[str], said: str) -> None:
    if words != ["."]:
        written(tmp_path, BEGIN, "a.pkt")
    done = conform(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_assertions_are_whole_numbers_compared() -> None:
    values = {"x": 6, "y": 4}
    compare = ["compare", "x", ">", "y", "!=", 5]
    assert evaluate(compare, values.__getitem__, 1) == 1
    assert evaluate(["not", ["and", compare, ["-", "x", 6]]], values.__getitem__, 1) == 1
    with pytest.raises(Refused, match="this divides by 0"):
        evaluate(["//", "x", ["-", "y", 4]], values.__getitem__, 7)
    with pytest.raises(Refused, match="this number is too large"):
        evaluate(["*", 1 << 150, 1 << 150], values.__getitem__, 7)


def test_mutated_scripts_have_a_verdict(tmp_path: Path) -> None:
    """Bytes, words, numbers and lines are changed; the answer is a verdict, or what cannot be expressed and where."""
    folders = [SCRIPTS, *([Path(MORE)] if MORE else [])]
    texts = [f.read_bytes() for folder in folders for f in sorted(folder.rglob("*.pkt"))]
    written(tmp_path, (SCRIPTS / "defaults.sh").read_text(encoding="utf-8"), "defaults.sh")
    file = tmp_path / "mutant.pkt"
    results: dict[str, int] = {}
    for number in range(MUTANTS):
        rng = random.Random(f"{SEED} {number}")
        file.write_bytes(mutated(rng.choice(texts), rng))
        verdict = on_simulator(file, tmp_path, None)
        results[verdict.result] = results.get(verdict.result, 0) + 1
        assert (verdict.line > 0) == (verdict.result != "holds"), f"seed {SEED}, mutant {number}: {verdict}"
        assert bool(verdict.said) == (verdict.result != "holds"), f"seed {SEED}, mutant {number}: {verdict}"
    assert len(results) == 3, f"seed {SEED}: {results}"
    print(f"seed {SEED}, {MUTANTS} mutants: {results}")


def mutated(text: bytes, rng: random.Random) -> bytes:
    """A script with one to four changes."""
    for _ in range(rng.randint(1, 4)):
        lines = text.split(b"\n")
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        match rng.randrange(7):
            case 0 if text:
                place = rng.randrange(len(text))
                text = text[:place] + bytes([rng.randrange(256)]) + text[place + 1 :]
            case 1:
                lines[at], lines[other] = lines[other], lines[at]
                text = b"\n".join(lines)
            case 2:
                text = b"\n".join([*lines[:at], lines[other], *lines[at:]])
            case 3:
                text = b"\n".join(lines[:at] + lines[at + 1 :])
            case 4:
                text = text[: rng.randrange(len(text) + 1)]
            case _:
                words = lines[at].split(b" ")
                word = rng.randrange(len(words))
                words[word] = _other_word(words[word], rng)
                lines[at] = b" ".join(words)
                text = b"\n".join(lines)
    return text


def _other_word(word: bytes, rng: random.Random) -> bytes:
    """The same word with another number in it, or another word."""
    digits = [i for i, c in enumerate(word) if chr(c).isdigit()]
    if not digits or rng.random() < 0.3:
        return rng.choice(
            [b"", b"*", b"...", b"-1", b"<", b">", b"99999999999999999999", b"[[", b"ack", b"%{", b"`", b"\xff"]
        )
    place = rng.choice(digits)
    number = str(rng.choice([0, 1, 7, 255, 65_536, 4_294_967_296, 10**12])).encode()
    return word[:place] + number + word[place + 1 :]
