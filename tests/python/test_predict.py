"""The closed-form models against the published rows, and the command line's errors."""

import itertools
import json
import math

import pytest
from click.testing import CliRunner

from tailback.cli import cli
from tailback.core.theory import predict

C = 500e6 / 8 / 1500  # packets a second


@pytest.mark.parametrize(
    ("buffer", "window", "after", "drop", "cycle", "utilisation"),
    [
        (200, 43.67, -1233.3, 1433.3, 1.543, 0.882),
        (400, 45.67, -1103.3, 1503.3, 1.632, 0.910),
        (800, 49.67, -843.3, 1643.3, 1.839, 0.954),
        (4167, 83.34, 1345.2, 2821.8, 4.888, 1),
        (8333, 125.00, 4053.1, 4279.9, 10.941, 1),
        (20833, 250.00, 12178.1, 8654.9, 43.540, 1),
    ],
)
def test_tail_drop_gives_the_rows_of_table_2_2(buffer, window, after, drop, cycle, utilisation):
    m = predict.tail_drop(100, C, 0.1, buffer)
    assert m.window_full == pytest.approx(window, abs=0.01)
    assert m.queue_after == pytest.approx(after, abs=0.1)
    assert m.queue_drop == pytest.approx(drop, abs=0.1)
    assert m.cycle_s == pytest.approx(cycle, abs=0.001)
    assert m.utilisation == pytest.approx(utilisation, abs=0.0005)


@pytest.mark.parametrize(("buffer", "drop", "cycle"), [(4167, 2822, 4.89), (8333, 4280, 10.94), (20833, 8655, 43.54)])
def test_published_values_to_one_packet_and_a_hundredth_of_a_second(buffer, drop, cycle):
    m = predict.tail_drop(100, C, 0.1, buffer)
    assert abs(m.queue_drop - drop) <= 1
    assert abs(m.cycle_s - cycle) <= 0.01


def test_the_cycle_is_the_expanded_polynomial_of_equation_2_12():
    for b in (4167, 8333, 20833):
        for h in (0.5, 0.63, 0.7, 1.0):
            m = predict.tail_drop(100, C, 0.1, b, h)
            w = m.window_full
            t = m.rtt_full_s * (
                (h / 2 - h * h / 8) * w - (2 - 3 * h + 9 * h * h / 8) / w - (1 - 5 * h / 2 + 3 * h * h / 4)
            )
            if not m.underflow:
                assert m.cycle_s == pytest.approx(t, rel=1e-9)


def test_twice_the_flows():
    m = predict.tail_drop(200, C, 0.1, 4167)
    assert (round(m.queue_after, 1), round(m.steps, 2), round(m.cycle_s, 3)) == (1440.2, 13.63, 2.481)


@pytest.mark.parametrize("buffer", [0, 200, 800, 4167, 20833])
def test_the_series_starts_full_never_goes_below_zero_and_ends_full(buffer):
    m = predict.tail_drop(100, C, 0.1, buffer)
    t, q = m.level()
    assert (t[0], q[0]) == (0, buffer)
    assert q[-1] == pytest.approx(buffer, abs=1e-6)
    assert min(q) >= 0 and all(a < b for a, b in itertools.pairwise(t))
    # The exact arithmetic series is shorter than the published formula by half a step of the last round trip.
    if not m.underflow:
        assert m.cycle_s - t[-1] == pytest.approx(m.steps * m.flows / (2 * C), abs=0.003)
    t3, _ = m.level(cycles=3)
    assert t3[-1] == pytest.approx(3 * t[-1])


@pytest.mark.parametrize(
    ("n", "b", "victims"),
    [
        (100, 4000, 14), (100, 1000, 15), (100, 500, 22), (100, 200, 51), (100, 100, 100), (100, 50, 100),
        (10, 50, 4), (10, 40, 4), (10, 30, 5), (10, 100, 4), (10, 400, 4), (10, 417, 4), (1, 1, 1),
    ],
)  # fmt: skip
def test_qsdrr_victims(n, b, victims):
    assert predict.qsdrr(n, b).victims == victims


def test_qsdrr_victims_agree_with_a_replay_of_the_rule():
    for n in (3, 10, 47, 100):
        for length in (1, 2, 3, 5, 10, 40):
            queues, hit, victim = [length] * n, set(), None
            for _ in range(n):
                busy = [q for q in queues if q > 0]
                alone = (
                    victim is not None and queues[victim] == min(busy, default=0) and busy.count(queues[victim]) == 1
                )
                if victim is None or queues[victim] == 0 or alone:
                    victim = max(range(n), key=lambda i: (queues[i], -i))
                queues[victim] -= 1
                hit.add(victim)
            assert predict.qsdrr(n, n * length).victims == len(hit), (n, length)


def test_qsdrr_headline_a_seventh_of_tail_drops_fall():
    q = predict.qsdrr(100, 4167, C, 0.1)
    assert round(q.queue_drop) == 404
    assert predict.tail_drop(100, C, 0.1, 4167).queue_drop / q.queue_drop == pytest.approx(7, abs=0.1)


@pytest.mark.parametrize(
    "given",
    [
        {"flows": 0},
        {"packets_per_s": 0},
        {"rtt_s": 0},
        {"buffer_packets": -1},
        {"hit_share": 0},
        {"hit_share": 1.2},
        {"flows": 100_000},
    ],
)
def test_what_the_model_cannot_take_is_refused(given):
    ok = {"flows": 100, "packets_per_s": C, "rtt_s": 0.1, "buffer_packets": 800, "hit_share": 0.7}
    with pytest.raises(predict.PredictError):
        predict.tail_drop(**{**ok, **given})


def run(*args):
    return CliRunner().invoke(cli, ["predict", *args])


LINE = ["--flows", "100", "--rate", "500Mbps", "--rtt", "100ms", "--packet", "1500B"]


def test_command_line_prints_each_buffer():
    r = run("tail-drop", *LINE, "--buffer", "4167 packets", "--buffer", "1200KB", "--hit-share", "0.7")
    assert r.exit_code == 0
    assert "2821.8" in r.output and "4.888" in r.output and "1643.3" in r.output
    assert "runs empty" in r.output
    assert max(map(len, r.output.splitlines())) <= 100


def test_command_line_json_is_one_document():
    r = run("tail-drop", *LINE, "--buffer", "4167 packets", "--json", "--series")
    row = json.loads(r.stdout)["rows"][0]
    assert round(row["queue_drop"]) == 2822 and row["underflow"] is False
    assert len(row["time_s"]) == len(row["queue_packets"]) and math.isclose(row["queue_packets"][0], 4167)
    row = json.loads(run("qsdrr", *LINE, "--buffer", "4000 packets", "--json").stdout)["rows"][0]
    assert row["victims"] == 14


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--rate", "500", "Mbps"),
        ("--rtt", "100", "ms"),
        ("--rtt", "0s", "above zero"),
        ("--buffer", "4167", "packets"),
        ("--buffer", "unlimited", "never overflows"),
        ("--packet", "1500", "B"),
        ("--hit-share", "7", "at most 1"),
        ("--flows", "0", "0"),
    ],
)
def test_wrong_input_is_refused_with_status_2_and_a_hint(option, value, says):
    given = dict(zip(LINE[::2], LINE[1::2], strict=True)) | {"--buffer": "800 packets"} | {option: value}
    r = run("tail-drop", *(x for pair in given.items() for x in pair))
    assert r.exit_code == 2
    assert says in r.output


def test_qsdrr_has_a_series_where_it_has_a_queue_drop():
    m = predict.qsdrr(100, 4167, C, 0.1)
    t, q = m.level(2)
    assert q[0] == 4167 and min(q) == pytest.approx(4167 - m.queue_drop)
    assert t[-1] == pytest.approx(2 * m.cycle_s, rel=0.02)
    assert predict.qsdrr(100, 4167).level() is None
    args = ["predict", "qsdrr", "--flows", "100", "--rate", "500Mbps", "--rtt", "100ms", "--buffer", "4167 packets"]
    row = json.loads(CliRunner().invoke(cli, [*args, "--series", "--json"]).stdout)["rows"][0]
    assert row["victims"] == 14 and row["queue_packets"][0] == 4167 and "frame" not in row
