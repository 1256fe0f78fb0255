"""Environments for agents: Gymnasium's own check, determinism, and many at once against one by itself."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tailback as tb

gymnasium = pytest.importorskip("gymnasium")

import tailback.gym as steps  # noqa: E402
from tailback.gym import policy  # noqa: E402
from tailback.gym.task import line  # noqa: E402

ROOT = Path(__file__).parents[2]
KINDS = {
    "interval": (steps.CongestionEnv, steps.CongestionVectorEnv, {"interval": "20ms"}),
    "ack": (steps.CongestionEnv, steps.CongestionVectorEnv, {"interval": None}),
    "rate": (steps.CongestionEnv, steps.CongestionVectorEnv, {"interval": "20ms", "action": "rate"}),
    "queue": (steps.QueueEnv, steps.QueueVectorEnv, {"interval": "10ms"}),
}


def actions(space, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (space.low + (space.high - space.low) * rng.random((n, *space.shape)) ** 4).astype(np.float32)


def walk(env, seed: int, n: int) -> list[tuple]:
    """What an environment tells under actions that are drawn by its seed."""
    seen, info = env.reset(seed=seed)
    rows = [(seen.tobytes(), tuple(info.values()))]
    over = False
    for action in actions(env.action_space, n, seed):
        if over:
            seen, info = env.reset()
            over, reward = False, 0.0
        else:
            seen, reward, _, over, info = env.step(action)
        rows.append((seen.tobytes(), reward, over, tuple(info.values())))
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_gymnasium_finds_nothing_wrong(kind: str) -> None:
    from gymnasium.utils.env_checker import check_env

    one, _, given = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(one(**given), skip_render_check=True)


def test_they_have_names() -> None:
    env = gymnasium.make("tailback/Congestion-v0", interval="50ms")
    env.reset(seed=1)
    assert env.step([0.0])[4]["time_s"] == 0.05
    envs = gymnasium.make_vec("tailback/Queue-v0", num_envs=2)
    assert envs.reset(seed=1)[0].shape == (2, 6)
    envs.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_decides(kind: str) -> None:
    one, _, given = KINDS[kind]
    assert walk(one(**given), 3, 200) == walk(one(**given), 3, 200)
    assert walk(one(**given), 3, 200) != walk(one(**given), 4, 200)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_many_are_each_the_one_by_itself(kind: str, threads: int) -> None:
    """To the bit, past the ends of runs."""
    one, many, given = KINDS[kind]
    short = [{**s, "duration": "1s"} for s in scenarios(kind)]
    n, steps_each = 5, 150
    alone = [walk(one(short, **given), 7 + i, steps_each) for i in range(n)]
    envs = many(n, short, threads=threads, **given)
    seen, info = envs.reset(seed=7)
    rows = [[(seen[i].tobytes(), tuple(v[i] for v in info.values()))] for i in range(n)]
    drawn = np.stack([actions(envs.single_action_space, steps_each, 7 + i) for i in range(n)], 1)
    for row in drawn:
        seen, rewards, _, over, info = envs.step(row)
        for i in range(n):
            rows[i].append((seen[i].tobytes(), rewards[i], bool(over[i]), tuple(v[i] for v in info.values())))
    envs.close()
    assert rows == alone
    assert kind == "ack" or any(row[2] for row in rows[0][1:])


def scenarios(kind: str) -> list[dict]:
    from tailback.gym import task

    return task.queue_scenarios() if kind == "queue" else task.window_scenarios()


def test_a_larger_window_sends_more_and_waits_longer() -> None:
    line = scenarios("interval")[1]
    for window, used, delayed in ((20, 0.25, False), (100, 0.9, True)):
        env = steps.CongestionEnv(line, interval="100ms")
        _, info = env.reset(seed=1)
        goodput = []
        for _ in range(100):
            wanted = np.log2(window * 1448 / info["cwnd_bytes"])
            _, _, _, _, info = env.step([np.clip(wanted, -1, 1)])
            goodput.append(info["goodput_bps"])
        assert (np.mean(goodput[50:]) > used * 10e6) and (info["rtt_s"] > 0.1) == delayed


def test_an_environment_says_what_run_says(capsys: pytest.CaptureFixture[str]) -> None:
    line = copy.deepcopy(scenarios("queue")[0])
    line["flows"]["bulk"]["tcp"] = {"congestion": "bbr", "ecn": "on"}
    steps.QueueEnv([line, line], interval="100ms")
    said = capsys.readouterr().err
    assert said.count("flows.bulk: bbr ignores marks") == 1
    steps.QueueEnv(interval="100ms")
    assert not capsys.readouterr().err


def test_marks_and_drops_are_those_of_the_agent() -> None:
    env = steps.QueueEnv(interval="100ms")
    for action, dropped, marked in (([0.0, 0.0], 0.0, 0.0), ([0.2, 0.0], 0.2, 0.0), ([0.0, 0.3], 0.0, 0.3)):
        env.reset(seed=1)
        rows = np.array([env.step(action)[0] for _ in range(200)])
        assert rows[20:, 4].mean() == pytest.approx(dropped, abs=0.06)
        assert rows[20:, 5].mean() == pytest.approx(marked, abs=0.06)


def test_pausing_changes_nothing() -> None:
    """A queue that is stepped without drops carries what the drop-tail queue of a whole run does."""
    line = {**scenarios("queue")[0], "duration": "5s"}
    sent = {}
    for interval in ("1ms", "100ms"):
        env = steps.QueueEnv(line, interval=interval, buffer="50 packets")
        env.reset(seed=1)
        total, over = 0.0, False
        while not over:
            _, _, _, over, info = env.step([0.0, 0.0])
            total += info["sent_bps"] / 8 * float(interval.removesuffix("ms")) / 1e3
        sent[interval] = total
    assert sent["1ms"] == pytest.approx(sent["100ms"], rel=1e-12)
    _, seed = env.task.beginning(gymnasium.utils.seeding.np_random(1)[0])
    line["link"]["bottleneck"]["queue"]["buffer"] = "50 packets"
    whole = tb.run(line, seed=seed).links.where(name="bottleneck")
    # What was on the line and on its way at the end is the difference: 20 ms.
    assert 0 <= sent["1ms"] - whole["throughput_bps"][0] * 5 / 8 < 20e6 / 8 * 0.022


def test_mistakes_are_one_message() -> None:
    line = scenarios("interval")[0]
    two = {**line, "flows": {"agent": {**line["flows"]["agent"], "count": 2}}}
    with pytest.raises(RuntimeError, match=r'2 flows have the congestion control "agent".*exactly one'):
        steps.CongestionEnv(two).reset(seed=1)
    with pytest.raises(ValueError, match=r'there is no link "middle".*bottleneck'):
        steps.QueueEnv(port="middle")
    env = steps.CongestionEnv()
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step([0.0])
    env.reset(seed=1)
    with pytest.raises(RuntimeError, match="an action is 1 finite numbers"):
        env.step([float("nan")])
    for action in (3, [[0.0]], [0.0, 0.0], "up", None):
        with pytest.raises(ValueError, match="an action is a list of 1 number, not"):
            env.step(action)
    with pytest.raises(ValueError, match='acts on "window" or "rate", not on \'pace\''):
        steps.CongestionEnv(action="pace")
    with pytest.raises(ValueError, match="no scenario 9"):
        env.reset(options={"scenario": 9})
    with pytest.raises(ValueError, match="an interval is 1us"):
        steps.CongestionEnv(interval="1ns")
    for weight in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"delay_weight = .*finite"):
            steps.CongestionEnv(delay_weight=weight)
    for make in (steps.QueueEnv, steps.QueueVectorEnv):
        for copied in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be copied or pickled; make another"):
                copied(make())
    with pytest.raises(ValueError, match="at least one environment"):
        steps.CongestionVectorEnv(-1)
    with pytest.raises(ValueError, match="threads = -1"):
        steps.CongestionVectorEnv(1, threads=-1)
    envs = steps.CongestionVectorEnv(3)
    envs.reset(seed=1)
    for rows in ([[0.0]], [[0.0]] * 4, None, [[0.0] * 3]):
        with pytest.raises(ValueError, match="give a row for each of 3 environments"):
            envs.step(rows)
    with pytest.raises(RuntimeError, match="environment 1: an action is"):
        envs.step([[0.0], [float("inf")], [0.0]])
    envs.close()
    with pytest.raises(RuntimeError, match="closed"):
        envs.step([[0.0]] * 3)


def test_what_is_delivered_is_at_most_what_the_line_carries() -> None:
    """A hole that is filled delivers the repair: the ACK number jumps, and what came before it was counted then."""
    rng = np.random.default_rng(7)
    for episode in range(60):
        rate, rtt = float(np.exp(rng.uniform(np.log(0.5), np.log(100)))), float(rng.choice([10, 20, 40, 80]))
        buffer = max(2, int(rng.uniform(0.2, 4) * rate * rtt / 12))
        queue = {"kind": "droptail", "buffer": f"{buffer} packets"}
        flows = {"agent": {"tcp": {"profile": "linux", "congestion": "agent"}}}
        scenario = line(f"{rate:.3f}Mbps", rtt, queue, flows, 5)
        env = steps.CongestionEnv(scenario, action=("window", "rate")[episode % 2])
        env.reset(seed=episode)
        last, over = 0.0, False
        while not over:
            seen, _, _, over, info = env.step([rng.uniform(-0.5, 0.5) + 0.05])
            passed, last = info["time_s"] - last, info["time_s"]
            ack = 2 * 1448 * 8 / passed
            assert info["goodput_bps"] <= rate * 1e6 + ack, (episode, info)
            scale = info["goodput_bps"] / seen[0] if seen[0] else 0.0
            assert info["goodput_bps"] - scale <= 1.001 * ack and scale <= 1.001e6 * rate, (episode, seen)


FORK = """
import os, sys
import tailback.gym as steps
envs = steps.CongestionVectorEnv(2)
envs.reset(seed=1)
child = os.fork()
if child == 0:
    try:
        envs.step([[0.0], [0.0]])
    except RuntimeError as e:
        print(e, flush=True)
    envs.close()
    del envs
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
envs.step([[0.0], [0.0]])
"""


def test_a_fork_is_told_that_it_has_no_threads() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert done.stdout == "a vector environment does not survive fork(); make it in the process that uses it\n7\n"
    assert done.returncode == 0


LONG = """
import signal, sys, threading, os
import tailback.gym as steps
line = {"duration": "100000s", "link": {"bottleneck": {"from": "a", "to": "b", "rate": "10Gbps", "delay": "1ms",
        "queue": {"kind": "droptail", "buffer": "100 packets"}}},
        "flows": {"agent": {"tcp": {"profile": "linux", "congestion": "agent"}},
                  "noise": {"transport": "udp", "traffic": {"kind": "poisson", "rate": "9Gbps"}}}}
many = sys.argv[1] == "many"
env = steps.CongestionVectorEnv(2, line, interval="9000s") if many else steps.CongestionEnv(line, interval="9000s")
env.reset(seed=1)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    env.step([[0.0], [0.0]] if many else [0.0])
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("which", ["one", "many"])
def test_a_long_step_asks_for_a_stop(which: str) -> None:
    done = subprocess.run([sys.executable, "-c", LONG, which], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


def test_an_agent_outside_of_an_environment_is_refused() -> None:
    with pytest.raises(tb.ScenarioError, match='there is no congestion "agent"'):
        tb.run(scenarios("interval")[0])


@pytest.mark.parametrize("action", policy.ACTIONS)
def test_a_policy_runs_as_a_control(action: str, tmp_path: Path) -> None:
    """A policy that holds the delay: it opens where the round trip is short, and closes where it is long."""
    file = tmp_path / "policy.json"
    policy.save(file, [([[0, -0.5, -1, 0, 0, 0, 0]], [0.1])], 0.02, action=action)
    given = tb.congestion(policy.TrainedPolicy, file=str(file))
    net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", queue="droptail", tcp={"congestion": given, "delayed_ack": 1})
    net.record(flows="bulk", probes=["action"], every="100ms")
    result = net.run(duration="10s")
    assert result.links["utilisation"][0] > (0.8 if action == "window" else 0.5)
    assert (np.abs(result.series.where(probe="action")["value"]) < 1).all()
    # As in the environment, whose intervals are those of the clock.
    env = steps.CongestionEnv(
        tb.dumbbell(bottleneck="10Mbps", rtt="40ms", queue="droptail", tcp={"congestion": "agent", "delayed_ack": 1})
        .set(duration="10s")
        .document,
        action=action,
    )
    seen, _ = env.reset(seed=1)
    used, over = [], False
    while not over:
        seen, _, _, over, info = env.step(policy.act(policy.load(str(file))["layers"], seen.tolist()))
        used.append(info["goodput_bps"])
    assert np.mean(used) == pytest.approx(float(result.flows["goodput_bps"][0]), rel=0.1)


def test_a_policy_that_changed_is_run_anew(tmp_path: Path) -> None:
    """The file of a policy decides what is stored, as the code does; a file that is no policy is said."""
    file = tmp_path / "policy.json"
    given = tb.congestion(policy.TrainedPolicy, file=str(file))
    net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", queue="droptail", tcp={"congestion": given})
    sent = []
    for bias in (0.1, 0.1, -0.9):
        policy.save(file, [([[0, -0.5, -1, 0, 0, 0, 0]], [bias])], 0.02)
        sent.append(float(tb.run(net, duration="2s", out=tmp_path / "out").flows["goodput_bps"][0]))
    assert sent[0] == sent[1] > 2 * sent[2]
    file.write_text('{"layers": 3}')
    with pytest.raises(tb.RunError, match=r"policy\.json is no policy; write one by tailback\.gym\.policy\.save"):
        net.run(duration="2s")


@pytest.mark.slow
def test_the_example_trains_and_compares(tmp_path: Path) -> None:
    script = ROOT / "python/tailback/examples/train_control.py"
    done = subprocess.run(
        [sys.executable, str(script), "--generations", "2"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "policy.json").is_file()
    assert {"policy", "cubic", "bbr"} <= set(done.stdout.split())
