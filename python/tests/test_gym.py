"""The environment for learning."""

from __future__ import annotations

import warnings

import pytest

import longfat

from conftest import POLICED

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

import longfat.gym as gym  # noqa: E402

SCHEMES = ["aurora", "orca", "mvfst-rl", "direct"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gymnasiums_checker_passes(scheme: str) -> None:
    from gymnasium.utils.env_checker import check_env

    env = gym.CongestionEnv(POLICED, scheme=scheme, ranges={"flows.up.start": gym.Range("0ms", "100ms")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_same_seed_and_actions_same_numbers_and_episodes_end(scheme: str) -> None:
    def episode(seed: int) -> list:
        env = gym.CongestionEnv(
            POLICED, scheme=scheme, ranges={"links.wan.forward.policer.rate": gym.Range("5Mbit/s", "20Mbit/s", log=True)}
        )
        seen, drawn = env.reset(seed=seed)
        env.action_space.seed(seed)
        told = [seen.tolist(), drawn]
        while True:
            seen, reward, done, over, _ = env.step(env.action_space.sample())
            assert env.observation_space.contains(seen) and np.isfinite(reward)
            told.append((seen.tolist(), reward, done, over))
            if done or over:
                return told

    one = episode(3)
    assert one == episode(3) and one != episode(4)
    # 3 s of 10 ms, less what the handshake takes.
    assert 290 <= len(one) - 2 <= 299 and one[-1][2:] == (False, True)


def test_an_action_does_what_its_scheme_says() -> None:
    def moved(scheme: str, action, figure: str) -> float:
        env = gym.CongestionEnv(POLICED, scheme=scheme, step_s=0.002)
        env.reset(seed=1)
        before = env.figures()[figure]
        env.step(action)
        return env.figures()[figure] / before

    assert moved("aurora", [1.0], "pacing_mbps") == pytest.approx(1.25, rel=1e-3)
    assert moved("aurora", [-1.0], "pacing_mbps") == pytest.approx(0.8, rel=1e-3)
    assert moved("mvfst-rl", 4, "cwnd") == 2 and moved("mvfst-rl", 1, "cwnd") == 0.5
    assert moved("direct", [1.0, 0.0], "cwnd") == 2
    assert moved("direct", [0.0, -1.0], "pacing_mbps") == pytest.approx(0.5, rel=1e-3)
    assert moved("orca", [0.5], "cwnd") >= 2


def test_a_world_left_to_a_classic_control_is_the_run() -> None:
    scenario = {**longfat.Scenario().keys, **_keys()}
    episode = gym.classic("reno", scenario, seed=5, step_s=0.01)
    flow = longfat.run(scenario, set={"flows.up.cc": "reno"}).flows[0]
    assert episode.goodput_mbps == pytest.approx(flow.goodput_mbps, rel=0.02)
    assert episode.loss == pytest.approx(flow.retransmitted_packets / flow.sent_packets, rel=0.25)


def _keys() -> dict:
    s = longfat.Scenario(name="p", duration="6s")
    s.link("wan", "a", "b", forward=[longfat.policer("10Mbit/s", burst="40kB"), longfat.delay("15ms")],
           backward=[longfat.delay("15ms")])
    s.flow("up", "a", "b")
    return s.keys


def test_worlds_side_by_side_are_the_worlds_alone() -> None:
    envs = gym.CongestionVectorEnv(3, POLICED, scheme="direct", max_steps=40)
    seen, _ = envs.reset(seed=[1, 2, 3])
    alone = [gym.CongestionEnv(POLICED, scheme="direct", max_steps=40) for _ in range(3)]
    action = np.array([[0.1, 0.2], [-0.1, 0.3], [0.0, 0.0]])
    for i, env in enumerate(alone):
        env._np_random = np.random.default_rng(i + 1)
        env._world, _ = env._worlds.make(env._np_random)
        assert (env._world.observation() == seen[i].tobytes())
    for step in range(40):
        seen, rewards, done, over, _ = envs.step(action)
        for i, env in enumerate(alone):
            one, reward, _, ended, _ = env.step(action[i])
            assert (one == seen[i]).all() and reward == rewards[i] and ended == over[i]
    assert over.all()
    seen, rewards, done, over, _ = envs.step(action)
    assert not over.any() and (rewards == 0).all(), "the next step resets"


def test_what_cannot_be_had_is_said() -> None:
    with pytest.raises(ValueError, match="orca"):
        gym.CongestionEnv(POLICED, scheme="dream")
    env = gym.CongestionEnv(POLICED, set={"flows.up.count": 2})
    with pytest.raises(longfat.UsageError, match="one connection"):
        env.reset(seed=1)
    env = gym.CongestionEnv(POLICED)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step([0.0])
    env.reset(seed=1)
    with pytest.raises(longfat.UsageError, match="1 numbers"):
        env.step([0.0, 1.0])
    with pytest.raises(ValueError, match="one unit"):
        gym.CongestionEnv(POLICED, ranges={"duration": gym.Range("1s", "200ms")}).reset(seed=1)
