"""Train a small policy of congestion control with CMA-ES, save it, and run it beside CUBIC and BBR.

pip install 'tailback[gym]'
python train_control.py --generations 40
"""

import argparse

import cma
import numpy as np

import tailback as tb
import tailback.gym
from tailback.gym import policy
from tailback.gym.task import WINDOW_SEEN, window_scenarios

#: So many runs of a candidate, each on a line that its seed draws, and how many steps each gets: 10 s of 20 ms.
LINES = len(window_scenarios())
STEPS = 500


def layer(x):
    """The numbers of a candidate as the one layer of a policy: weights and bias."""
    return np.array(x[:WINDOW_SEEN]), float(x[WINDOW_SEEN])


def returns(envs, candidates, seed):
    """The mean reward of a step of each candidate, on the same lines and with the same seeds."""
    weights = np.repeat([layer(x)[0] for x in candidates], LINES, axis=0)
    biases = np.repeat([layer(x)[1] for x in candidates], LINES)
    seen, _ = envs.reset(seed=[seed + i % LINES for i in range(envs.num_envs)])
    total = np.zeros(envs.num_envs)
    for _ in range(STEPS):
        seen, rewards, _, _, _ = envs.step(np.tanh((weights * seen).sum(axis=1) + biases)[:, None])
        total += rewards
    return total.reshape(-1, LINES).mean(axis=1) / STEPS


def train(generations):
    search = cma.CMAEvolutionStrategy([0.0] * (WINDOW_SEEN + 1), 0.5, {"seed": 1, "popsize": 12, "verbose": -9})
    envs = tailback.gym.CongestionVectorEnv(search.popsize * LINES, interval="20ms")
    for generation in range(generations):
        candidates = search.ask()
        found = returns(envs, candidates, seed=1 + generation)
        search.tell(candidates, (-found).tolist())
        print(f"generation {generation + 1}: best {found.max():.3f}, mean {found.mean():.3f}", flush=True)
    envs.close()
    return search.result.xfavorite


def beside(file, seeds):
    """The policy, CUBIC and BBR: each alone on a line it has not seen, and all three together."""
    controls = {"policy": tb.congestion(policy.TrainedPolicy, file=file), "cubic": "cubic", "bbr": "bbr"}
    sender = {"profile": "linux"}
    flows = {name: {"tcp": {**sender, "congestion": control}} for name, control in controls.items()}
    print(f"{'alone':10} goodput Mbit/s   p95 wait ms   loss %      (12 Mbit/s, 60 ms, 100 packets)")
    for name, group in flows.items():
        result = line({name: group}).run(duration="40s", warmup="10s", replications=seeds)
        print(f"{name:10} {mean(result.flows['goodput_bps'] / 1e6)} {mean(waits(result))} {mean(losses(result))}")
    result = line(flows).run(duration="40s", warmup="10s", replications=seeds)
    print(f"{'together':10} goodput Mbit/s")
    for name in flows:
        print(f"{name:10} {mean(result.groups.where(group=name)['goodput_bps_sum'] / 1e6)}")


def line(flows):
    flows = {name: {**group, "start": {"kind": "uniform", "to": "1s"}} for name, group in flows.items()}
    return tb.dumbbell(flows=flows, bottleneck="12Mbps", rtt="60ms", queue=tb.queue("droptail", buffer="100 packets"))


def waits(result):
    return result.links.where(name="bottleneck")["sojourn_p95_s"] * 1e3


def losses(result):
    links = result.links.where(name="bottleneck")
    return 100 * links["dropped_packets"] / links["arrived_packets"]


def mean(values):
    """A mean with the half width of its 95 % interval."""
    from tailback.stats import estimate

    found = estimate(np.asarray(values, float))
    return f"{found.mean:8.3f} ± {found.half_width:<6.3f}"


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--generations", type=int, default=40)
    options.add_argument("--seeds", type=int, default=5)
    given = options.parse_args()
    weights, bias = layer(train(given.generations))
    policy.save("policy.json", [([weights], [bias])], 0.02)
    beside("policy.json", given.seeds)
