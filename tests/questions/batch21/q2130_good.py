import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)
GAMMA, TAU, BATCH = 0.99, 0.005, 64


class Pendulum:
    def __init__(self, n):
        self.n = n
        self.reset()

    def reset(self):
        self.th = rng.uniform(-np.pi, np.pi, self.n)
        self.om = rng.uniform(-1, 1, self.n)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.stack([np.cos(self.th), np.sin(self.th), self.om / 8], 1).astype(np.float32)

    def step(self, a):
        torque = 2 * np.clip(a[:, 0], -1, 1)
        angle = (self.th + np.pi) % (2 * np.pi) - np.pi
        reward = -(angle ** 2 + 0.1 * self.om ** 2 + 0.001 * torque ** 2)
        self.om = np.clip(self.om + (15 * np.sin(self.th) + 3 * torque) * 0.05, -8, 8)
        self.th = self.th + self.om * 0.05
        self.t += 1
        return self.obs(), reward.astype(np.float32) / 10


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1))


def soft_update(net, net_target):
    for p_target, p in zip(net_target.parameters(), net.parameters()):
        p_target.data.copy_(p_target.data * (1.0 - TAU) + p.data * TAU)


def evaluate(actor, episodes=32):
    env = Pendulum(episodes)
    s, total, disc, g = env.reset(), 0.0, 0.0, 1.0
    for _ in range(200):
        with torch.no_grad():
            a = actor(torch.from_numpy(s)).numpy()
        s, r = env.step(a)
        total, disc, g = total + r.mean(), disc + g * r.mean(), g * GAMMA
    return total, disc


actor, critic = Actor(), Critic()
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_opt = torch.optim.Adam(actor.parameters(), lr=5e-4)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)

env = Pendulum(4)
buf = {k: np.zeros((60000, d), np.float32) for k, d in (("s", 3), ("a", 1), ("r", 1), ("s2", 3))}
size = 0
s = env.reset()
for step in range(5000):
    with torch.no_grad():
        a = actor(torch.from_numpy(s)).numpy()
    a = np.clip(a + rng.normal(size=a.shape) * 0.3, -1, 1).astype(np.float32)
    s2, r = env.step(a)
    for key, val in (("s", s), ("a", a), ("r", r[:, None]), ("s2", s2)):
        buf[key][size:size + 4] = val
    size += 4
    s = env.reset() if env.t >= 200 else s2
    if size < 1000:
        continue
    idx = rng.integers(0, size, BATCH)
    bs, ba, br, bs2 = (torch.from_numpy(buf[k][idx]) for k in ("s", "a", "r", "s2"))
    with torch.no_grad():
        y = br + GAMMA * critic_target(bs2, actor_target(bs2))
    q_loss = F.mse_loss(critic(bs, ba), y)
    critic_opt.zero_grad()
    q_loss.backward()
    critic_opt.step()
    mu_loss = -critic(bs, actor(bs)).mean()
    actor_opt.zero_grad()
    mu_loss.backward()
    actor_opt.step()
    soft_update(critic, critic_target)
    soft_update(actor, actor_target)
    if step % 1000 == 0:
        print(f"step {step} q loss {q_loss.item():.4f} mean q {-mu_loss.item():.3f} return {evaluate(actor)[0]:.2f}")

ret, disc = evaluate(actor)
print(f"final return {ret:.2f}, discounted return {disc:.2f}, mean q {-mu_loss.item():.3f}, q loss {q_loss.item():.4f}")
