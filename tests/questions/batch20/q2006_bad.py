import copy

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(6)
np.random.seed(6)


def mlp(sizes, out_act=None):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    if out_act is not None:
        layers.append(out_act)
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = mlp([2, 64, 64, 1], nn.Tanh())
        self.q_net = mlp([3, 64, 64, 1])

    def act(self, obs):
        return self.pi(obs)

    def q(self, obs, act):
        return self.q_net(torch.cat([obs, act], dim=-1))


class Cart:
    def reset(self):
        self.x, self.v, self.t = np.random.uniform(-2, 2), 0.0, 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.v = 0.9 * self.v + 0.2 * float(a)
        self.x = float(np.clip(self.x + 0.5 * self.v, -3, 3))
        self.t += 1
        return np.array([self.x, self.v], dtype=np.float32), -abs(self.x), self.t >= 40


SIZE, GAMMA = 20000, 0.97
obs_b, obs2_b = np.zeros((SIZE, 2), np.float32), np.zeros((SIZE, 2), np.float32)
act_b, rew_b, done_b = np.zeros((SIZE, 1), np.float32), np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32)

ac = ActorCritic()
targ = copy.deepcopy(ac)
for p in targ.parameters():
    p.requires_grad_(False)
pi_opt = torch.optim.Adam(ac.pi.parameters(), lr=1e-3)
q_opt = torch.optim.Adam(ac.q_net.parameters(), lr=1e-3)


def compute_loss_q(o, a, r, o2, d):
    q = ac.q(o, a)
    with torch.no_grad():
        q_targ = targ.q(o2, targ.act(o2))
        backup = r + GAMMA * (1 - d) * q_targ
    return ((q - backup) ** 2).mean()


def play(n):
    env, total = Cart(), 0.0
    for _ in range(n):
        o, done = env.reset(), False
        while not done:
            with torch.no_grad():
                a = ac.act(torch.from_numpy(o)).item()
            o, r, done = env.step(a)
            total += r
    return total / n


env = Cart()
o = env.reset()
for t in range(4000):
    if t < 800:
        a = np.random.uniform(-1, 1)
    else:
        with torch.no_grad():
            a = float(np.clip(ac.act(torch.from_numpy(o)).item() + 0.2 * np.random.randn(), -1, 1))
    o2, r, done = env.step(a)
    obs_b[t], act_b[t], rew_b[t], obs2_b[t], done_b[t] = o, a, r, o2, 0.0
    o = env.reset() if done else o2
    if t >= 800:
        k = np.random.randint(0, t + 1, 64)
        batch = [torch.from_numpy(b[k]) for b in (obs_b, act_b, rew_b, obs2_b, done_b)]
        q_opt.zero_grad()
        loss_q = compute_loss_q(*batch)
        loss_q.backward()
        q_opt.step()
        pi_opt.zero_grad()
        loss_pi = -ac.q(batch[0], ac.act(batch[0])).mean()
        loss_pi.backward()
        pi_opt.step()
        with torch.no_grad():
            for p, pt in zip(ac.parameters(), targ.parameters()):
                pt.mul_(0.99).add_(0.01 * p)
    if t % 1000 == 999 and t > 1000:
        print("step %d q loss %.4f" % (t + 1, loss_q.item()))

print("average return %.2f" % play(20))
