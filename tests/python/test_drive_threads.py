"""A queue driven by hand belongs to its thread: elsewhere it refuses, and may still be let go of."""

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tailback as tb


def elsewhere(do: Callable[[], Any]) -> Any:
    """What `do` answers in a thread of its own, or what it raises there."""
    answer: list[Any] = []

    def run() -> None:
        try:
            answer.append(do())
        except BaseException as e:  # A panic of the binding is no Exception.
            answer.append(e)

    t = threading.Thread(target=run)
    t.start()
    t.join()
    return answer[0]


USES: dict[str, Callable[[Any], Any]] = {
    "enqueue": lambda q: q.enqueue(tb.packet(flow=2)),
    "dequeue": lambda q: q.dequeue(),
    "advance": lambda q: q.advance(1.0),
    "backlog": lambda q: q.backlog(),
    "len": len,
    "now": lambda q: q.now,
    "next_timer": lambda q: q.next_timer,
    "probes": lambda q: q.probes,
    "probe": lambda q: q.probe("dropping"),
    "drops": lambda q: q.drops,
    "marks": lambda q: q.marks,
}


@pytest.mark.parametrize("use", USES)
def test_another_thread_is_refused_in_words_and_changes_nothing(use: str) -> None:
    q = tb.drive("codel")
    q.enqueue(tb.packet(flow=1), now=0.5)
    e = elsewhere(lambda: USES[use](q))
    assert type(e) is RuntimeError, repr(e)
    assert "call tailback.drive() in the thread that uses it" in str(e)
    assert (q.now, len(q), q.backlog()[0]) == (0.5, 1, 1)
    p = q.dequeue()
    assert isinstance(p, tb.Packet) and p.flow == 1


def test_each_thread_drives_its_own() -> None:
    def drive() -> int:
        q = tb.drive("droptail")
        for i in range(5):
            q.enqueue(tb.packet(flow=i), now=0.1 * i)
        return len(q)

    assert [elsewhere(drive) for _ in range(3)] == [5, 5, 5]


class Held:
    """A discipline that says when it is gone."""

    gone: list[int] = []

    def __init__(self) -> None:
        self.packets: list[Any] = []

    def enqueue(self, packet: Any, line: Any, out: Any) -> None:
        self.packets.append(packet)

    def dequeue(self, line: Any, out: Any) -> Any:
        return self.packets.pop(0) if self.packets else None

    def __del__(self) -> None:
        Held.gone.append(threading.get_ident())


@pytest.mark.parametrize("maker", ["here", "in a thread that has ended"])
def test_letting_go_of_it_in_another_thread_is_quiet(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)

    def make() -> list[Any]:
        q = tb.drive(Held)
        q.enqueue(tb.packet(flow=1))
        return [q]

    box = make() if maker == "here" else elsewhere(make)
    assert elsewhere(box.clear) is None
    gc.collect()
    assert box == [] and unraisable == []
    assert len(tb.drive("droptail")) == 0


def test_a_queue_ends_with_its_object_or_with_its_thread() -> None:
    Held.gone.clear()
    q = tb.drive(Held)
    del q
    assert len(Held.gone) == 1
    box = elsewhere(lambda: [tb.drive(Held)])
    # The thread that made it is over, and the discipline with it; the object says so.
    with pytest.raises(RuntimeError, match="belongs to the thread that made it"):
        len(box[0])
    gc.collect()
    tb.packet(flow=1)
    assert len(Held.gone) == 2
