"""Policies and buffers of stable-baselines3, trained on what a rollout would have given."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.buffers import ReplayBuffer, RolloutBuffer
from stable_baselines3.common.distributions import make_proba_distribution
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv
from tools.third_party.measure import array, arrays, integers, numbers, set_values


class _Environment(gymnasium.Env):
    """Four numbers go towards zero."""

    observation_space = gymnasium.spaces.Box(-10, 10, (4,), np.float32)

    def __init__(self, *, discrete: bool) -> None:
        box = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(3) if discrete else box

    def reset(self, **options: Any) -> Any:
        self.state, self.count = np.ones(4, np.float32), 0
        return self.state, {}

    def step(self, action: Any) -> Any:
        self.count += 1
        self.state = self.state * np.float32(0.9) + np.float32(np.sum(action)) / 10
        return self.state, -float(abs(self.state).sum()), self.count >= 5, False, {}


def _algorithm(name: str, discrete: bool, **options: Any) -> Any:
    environment = DummyVecEnv([partial(_Environment, discrete=discrete)])
    policy = {"net_arch": [8]}
    kind = getattr(stable_baselines3, name)
    model = kind("MlpPolicy", environment, policy_kwargs=policy, device="cpu", seed=0, **options)
    set_values(model.policy)
    model._logger = Logger(None, [])
    return model


def _parameters(model: Any) -> dict[str, Any]:
    return {f"after: {n}": array(p) for n, p in model.policy.named_parameters()}


def _on_policy(name: str, discrete: bool) -> dict[str, Any]:
    options = {"n_steps": 8, **({"batch_size": 8, "n_epochs": 2} if name == "PPO" else {})}
    model = _algorithm(name, discrete, **options)
    buffer: RolloutBuffer = model.rollout_buffer
    model.policy.set_training_mode(False)
    for place in range(8):
        observation = numbers(1, 4, seed=place, dtype=torch.float32)
        action = integers(1, below=3, seed=place) if discrete else numbers(1, 2, seed=place).float()
        with torch.no_grad():
            value, probability, _ = model.policy.evaluate_actions(observation, action)
        reward, start = np.array([float(place % 3)]), np.array([place == 0])
        buffer.add(observation.numpy(), action.numpy(), reward, start, value, probability)
    buffer.compute_returns_and_advantage(value.flatten(), np.array([False]))
    order = np.random.permutation
    np.random.permutation = np.arange
    try:
        model.train()
    finally:
        np.random.permutation = order
    return {"advantages": buffer.advantages, **_parameters(model)}


def _off_policy(name: str) -> dict[str, Any]:
    model = _algorithm(name, discrete=name == "DQN", buffer_size=16, batch_size=8)
    buffer: ReplayBuffer = model.replay_buffer
    for place in range(16):
        observation, after = (numbers(1, 4, seed=s).numpy() for s in (place, place + 1))
        action = np.array([[place % 3]]) if name == "DQN" else np.full((1, 2), place / 16)
        buffer.add(observation, after, action, np.array([1.0]), np.array([place % 5 == 4]), [{}])
    np.random.seed(0)
    model.train(gradient_steps=2, batch_size=8)
    return _parameters(model)


def _saved() -> dict[str, Any]:
    model = _algorithm("PPO", False, n_steps=8, batch_size=8)
    model.save("policy")
    again = stable_baselines3.PPO.load("policy", device="cpu")
    actions, _ = again.predict(numbers(3, 4, dtype=torch.float32).numpy(), deterministic=True)
    return {"actions": actions, **_parameters(again)}


def _distributions() -> dict[str, Any]:
    spaces = {
        "box": gymnasium.spaces.Box(-1, 1, (2,), np.float32),
        "discrete": gymnasium.spaces.Discrete(3),
        "several": gymnasium.spaces.MultiDiscrete([2, 3]),
        "binary": gymnasium.spaces.MultiBinary(2),
    }
    measured = {}
    for name, space in spaces.items():
        distribution = make_proba_distribution(space)
        if name == "box":
            distribution.proba_distribution(numbers(3, 2), torch.zeros(2).double())
            actions = numbers(3, 2, seed=1)
        else:
            width = {"discrete": 3, "several": 5, "binary": 2}[name]
            distribution.proba_distribution(numbers(3, width))
            actions = integers(3, below=2) if name == "discrete" else integers(3, 2, below=2)
        values = [distribution.log_prob(actions.double() if name == "binary" else actions)]
        measured |= arrays([*values, distribution.entropy(), distribution.mode().double()], name)
    return measured


CASES = {
    "PPO": partial(_on_policy, "PPO", False),
    "PPO discrete": partial(_on_policy, "PPO", True),
    "A2C": partial(_on_policy, "A2C", False),
    "DQN": partial(_off_policy, "DQN"),
    "TD3": partial(_off_policy, "TD3"),
    "saved": _saved,
    "distributions": _distributions,
}
