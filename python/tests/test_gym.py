"""The learning environment."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

import longfat

from conftest import POLICED

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

import longfat.gym as gym  # noqa: E402

SCHEMES = ["aurora", "orca", "mvfst-rl", "direct"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_environment_passes_gymnasiums_checker(scheme: str) -> None:
    from gymnasium.utils.env_checker import check_env

    env = gym.CongestionEnv(POLICED, scheme=scheme, ranges={"flows.up.start": gym.Range("0ms", "100ms")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_same_seed_and_actions_give_the_same_episode(scheme: str) -> None:
    def episode(seed: int) -> list:
        env = gym.CongestionEnv(
            POLICED, scheme=scheme, ranges={"links.wan.forward.policer.rate": gym.Range("5Mbit/s", "20Mbit/s", log=True)}
        )
        seen, drawn = env.reset(seed=seed)
        env.action_space.seed(seed)
        transcript = [seen.tolist(), drawn]
        while True:
            seen, reward, done, over, _ = env.step(env.action_space.sample())
            assert env.observation_space.contains(seen) and np.isfinite(reward)
            transcript.append((seen.tolist(), reward, done, over))
            if done or over:
                return transcript

    one = episode(3)
    assert one == episode(3) and one != episode(4)
    # 3 s in steps of 10 ms, minus the handshake.
    assert 290 <= len(one) - 2 <= 299 and one[-1][2:] == (False, True)


def test_an_action_has_the_effect_that_its_scheme_defines() -> None:
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


def test_a_world_with_a_classic_control_agrees_with_the_run() -> None:
    scenario = {**longfat.Scenario().keys, **_keys()}
    episode = gym.classic("reno", scenario, seed=5, step_s=0.01)
    flow = longfat.run(scenario, repeat=1, set={"flows.up.cc": "reno"}).flows[0]
    assert episode.goodput_mbps == pytest.approx(flow.goodput_mbps, rel=0.02)
    assert episode.loss == pytest.approx(flow.retransmitted_packets / flow.sent_packets, rel=0.25)


def _keys() -> dict:
    s = longfat.Scenario(name="p", duration="6s")
    s.link("wan", "a", "b", forward=[longfat.policer("10Mbit/s", burst="40kB"), longfat.delay("15ms")],
           backward=[longfat.delay("15ms")])
    s.flow("up", "a", "b")
    return s.keys


def test_a_vector_of_worlds_equals_single_worlds() -> None:
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


def test_invalid_environments_and_actions_raise() -> None:
    with pytest.raises(ValueError, match="orca"):
        gym.CongestionEnv(POLICED, scheme="dream")
    env = gym.CongestionEnv(POLICED, set={"flows.up.count": 2})
    with pytest.raises(longfat.UsageError, match="a single connection"):
        env.reset(seed=1)
    env = gym.CongestionEnv(POLICED)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step([0.0])
    env.reset(seed=1)
    with pytest.raises(longfat.UsageError, match="1 numbers"):
        env.step([0.0, 1.0])
    with pytest.raises(ValueError, match="one unit"):
        gym.CongestionEnv(POLICED, ranges={"duration": gym.Range("1s", "200ms")}).reset(seed=1)


SHAPED = POLICED.replace('{ kind = "policer", rate = "10Mbit/s", burst = "40kB" }',
                         '{ kind = "link", rate = "10Mbit/s", queue = { kind = "fifo", packets = 200 } }')


def a_policy(scheme: str, width: int, outputs: int, value: float, **more) -> gym.Policy:
    """A policy that always takes the same action."""
    return gym.Policy([(np.zeros((outputs, width)), np.full(outputs, value))], scheme=scheme, step_s=0.02, **more)


def test_a_saved_policy_loads_to_the_same_policy(tmp_path) -> None:
    random = np.random.default_rng(1)
    layers = [(random.standard_normal((8, 30)), random.standard_normal(8)), (random.standard_normal((5, 8)), np.zeros(5))]
    for of in ({"output": "tanh", "scale": 0.3}, {"output": "argmax", "between": "relu"}, {}):
        policy = gym.Policy(layers, scheme="aurora", step_s=0.02, **of)
        policy.save(tmp_path / "p.json")
        kept = gym.Policy.load(tmp_path / "p.json")
        assert (kept.scheme, kept.step_s) == ("aurora", 0.02)
        seen = random.standard_normal(30)
        assert np.array_equal(kept(seen), policy(seen))
    hidden = np.tanh(layers[0][0] @ seen + layers[0][1])
    assert np.allclose(kept(seen), layers[1][0] @ hidden)
    assert isinstance(gym.Policy(layers, scheme="mvfst-rl", step_s=0.02, output="argmax")(seen), int)


def test_invalid_policies_raise(tmp_path) -> None:
    file = tmp_path / "p.json"
    for text in ("", "[]", "{}", '{"layers": [{"weights": [[1]], "constants": [1, 2]}], "scheme": "orca", "step_s": 1}'):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"p\.json: not a policy"):
            gym.Policy.load(file)
    with pytest.raises(ValueError, match="layer 1: .* after 3 outputs"):
        gym.Policy([(np.ones((3, 2)), np.ones(3)), (np.ones((1, 4)), np.ones(1))], scheme="orca", step_s=0.1)
    with pytest.raises(ValueError, match="'tanh' or 'relu'"):
        a_policy("orca", 7, 1, 0.0, between="sigmoid")


def lab(*args, **more) -> gym.Episode:
    """Calls `on_kernel`; skips the test if this machine does not permit it."""
    try:
        return gym.on_kernel(*args, **more)
    except longfat.RunError as e:
        if "root" in str(e) and "no episode" not in str(e):
            pytest.skip(f"SKIPPED, this needs root: {e}")
        raise


def in_the_lab(holds: Callable[[gym.Episode], bool], *args, **more) -> gym.Episode:
    """Plays an episode in real time until `holds` is true, at most three times: other load on this machine may delay the
    sender, which runs in user space. Returns the last episode."""
    seen = []
    for _ in range(3):
        try:
            seen.append(lab(*args, **more))
        except longfat.RunError as e:
            seen.append(e)
            continue
        if holds(seen[-1]):
            return seen[-1]
    pytest.fail(f"three episodes: {seen}")


def test_the_sender_in_the_lab_agrees_with_the_simulator() -> None:
    simulated = gym.classic("reno", SHAPED, seed=1, scheme="direct")

    def agrees(reno: gym.Episode) -> bool:
        # Both have a queue of 200 packets of 1.2 ms.
        return (reno.goodput_mbps == pytest.approx(simulated.goodput_mbps, rel=0.05)
                and reno.rtt_ms == pytest.approx(simulated.rtt_ms, rel=0.3))

    in_the_lab(agrees, None, SHAPED, classic="reno", variant="cubic", seconds=2.5)


def test_a_policy_controls_the_sender_in_the_lab() -> None:
    # The second of the five actions halves the window, down to the minimum of two.
    shrinking = a_policy("mvfst-rl", 100, 5, 0.0, output="argmax")
    shrinking.layers[0][1][1] = 1.0

    def shrinks(few: gym.Episode) -> bool:
        # Two packets per round trip of 30 ms.
        return (few.steps == 100 and few.goodput_mbps == pytest.approx(2 * 1448 * 8e-6 / 0.030, rel=0.15)
                and few.rtt_ms < 45 and few.loss == 0)

    few = in_the_lab(shrinks, shrinking, SHAPED, seconds=2.0)
    more = a_policy("aurora", 30, 1, 0.02)
    in_the_lab(lambda much: much.goodput_mbps > 3 * few.goodput_mbps, more, SHAPED, seconds=2.0)


def test_invalid_episodes_in_the_lab_raise() -> None:
    with pytest.raises(longfat.RunError, match="no episode: .*matmul"):
        lab(a_policy("orca", 8, 1, 0.0), SHAPED, seconds=1.0)
    with pytest.raises(ValueError, match="either"):
        gym.on_kernel(None, SHAPED)
    with pytest.raises(ValueError, match="down.*up"):
        gym.on_kernel(None, SHAPED, classic="reno", flow="down")
    # Programs of the scenario's other flows need permission.
    more = SHAPED + '[flows.web]\nfrom = "office"\nto = "centre"\ntool = "touch /tmp/longfat-was-here"\n'
    with pytest.raises(longfat.UsageError, match="allow_tools"):
        gym.on_kernel(None, more.replace("[variants.cubic]", "").replace("[variants.bbr]", "").replace('"flows.up.cc" = "bbr"', ""),
                      classic="reno")
