import numpy as np
import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(1)
rng = np.random.default_rng(1)
HORIZON, GAMMA, EPISODES = 20, 0.95, 30


class PointTask:
    def __init__(self):
        angle = rng.uniform(0, 2 * np.pi)
        self.goal = torch.tensor([np.cos(angle), np.sin(angle)], dtype=torch.float32) * 2.0

    def rollout(self, policy, params):
        pos = torch.zeros(EPISODES, 2)
        obs, acts, rews = [], [], []
        for t in range(HORIZON):
            o = torch.cat([pos, torch.full((EPISODES, 1), t / HORIZON)], dim=1)
            with torch.no_grad():
                mean = functional_call(policy, params, (o,))
                a = mean + 0.3 * torch.randn_like(mean)
            pos = pos + 0.2 * a.clamp(-1, 1)
            obs.append(o)
            acts.append(a)
            rews.append(-(pos - self.goal).norm(dim=1))
        ret, g = [], torch.zeros(EPISODES)
        for r in reversed(rews):
            g = r + GAMMA * g
            ret.insert(0, g)
        return torch.stack(obs), torch.stack(acts), torch.stack(ret), torch.stack(rews).sum(0).mean().item()


class ValueFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return self.net(obs).squeeze(-1)

    def compute_loss(self, obs, returns):
        return (self(obs) - returns).pow(2).mean()


class VPG:
    def __init__(self, policy, value_function):
        self.policy = policy
        self._value_function = value_function
        self._vf_optimizer = torch.optim.Adam(self._value_function.parameters(), lr=1e-2)

    def policy_loss(self, params, obs, acts, adv):
        mean = functional_call(self.policy, params, (obs,))
        logp = -((acts - mean) ** 2).sum(-1) / (2 * 0.3 ** 2)
        return -(logp * adv).mean()


class MAML:
    def __init__(self, inner_algo, inner_lr=0.05, outer_lr=3e-3):
        self._inner_algo = inner_algo
        self._policy = inner_algo.policy
        self._value_function = inner_algo._value_function
        self._inner_lr = inner_lr
        self._meta_optimizer = torch.optim.Adam(self._policy.parameters(), lr=outer_lr)

    def _advantage(self, obs, returns):
        with torch.no_grad():
            return (returns - self._value_function(obs)) / 5.0

    def _train_value_function(self, obs, returns):
        optimizer = self._inner_algo._vf_optimizer
        optimizer.zero_grad()
        loss = self._value_function.compute_loss(obs, returns)
        loss.backward()
        optimizer.step()
        return loss.item()

    def train_once(self, tasks):
        outer, vf_losses, rewards = 0.0, [], []
        params = dict(self._policy.named_parameters())
        for task in tasks:
            obs, acts, ret, _ = task.rollout(self._policy, params)
            for _ in range(3):
                vf_losses.append(self._train_value_function(obs, ret))
            loss = self._inner_algo.policy_loss(params, obs, acts, self._advantage(obs, ret))
            grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
            adapted = {k: p - self._inner_lr * g for (k, p), g in zip(params.items(), grads)}
            obs, acts, ret, reward = task.rollout(self._policy, adapted)
            outer = outer + self._inner_algo.policy_loss(adapted, obs, acts, self._advantage(obs, ret))
            rewards.append(reward)
        self._meta_optimizer.zero_grad()
        (outer / len(tasks)).backward()
        nn.utils.clip_grad_norm_(self._policy.parameters(), 1.0)
        self._meta_optimizer.step()
        return np.mean(vf_losses), np.mean(rewards)


policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
algo = MAML(VPG(policy, ValueFunction()))
for epoch in range(60):
    vf_loss, reward = algo.train_once([PointTask() for _ in range(8)])
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} value loss {vf_loss:.3f} reward after adaptation {reward:.2f}")
