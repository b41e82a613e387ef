import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

LR_MU, LR_Q = 5e-4, 1e-3
GAMMA, TAU = 0.98, 0.01
BATCH_SIZE = 64


class Balance:
    """A point on a ridge: it slides away from the top unless it is pushed back."""

    def __init__(self, rng, limit=150):
        self.rng, self.limit = rng, limit

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-0.3, 0.3), self.rng.uniform(-0.1, 0.1), 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.v += 0.05 * (2.0 * self.x + 1.5 * float(np.clip(a, -1, 1))) + 0.01 * self.rng.normal()
        self.x += 0.05 * self.v * 2
        self.t += 1
        fallen = abs(self.x) > 1.0
        return np.array([self.x, self.v], dtype=np.float32), 1.0, fallen, self.t >= self.limit


class ReplayBuffer:
    def __init__(self, limit=20000):
        self.buffer = collections.deque(maxlen=limit)

    def put(self, transition):
        self.buffer.append(transition)

    def sample(self, n):
        s, a, r, s2, done_mask = zip(*random.sample(self.buffer, n))
        col = lambda x: torch.tensor(x, dtype=torch.float)[:, None]
        return torch.tensor(np.stack(s)), col(a), col(r), torch.tensor(np.stack(s2)), col(done_mask)


class MuNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc_mu = nn.Linear(2, 64), nn.Linear(64, 64), nn.Linear(64, 1)

    def forward(self, x):
        return torch.tanh(self.fc_mu(F.relu(self.fc2(F.relu(self.fc1(x))))))


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc_s, self.fc_a = nn.Linear(2, 64), nn.Linear(1, 64)
        self.fc_q, self.fc_out = nn.Linear(128, 64), nn.Linear(64, 1)

    def forward(self, x, a):
        h = torch.cat([F.relu(self.fc_s(x)), F.relu(self.fc_a(a))], dim=1)
        return self.fc_out(F.relu(self.fc_q(h)))


def train(mu, mu_target, q, q_target, memory, q_optimizer, mu_optimizer):
    s, a, r, s_prime, done_mask = memory.sample(BATCH_SIZE)
    with torch.no_grad():
        target = r + GAMMA * q_target(s_prime, mu_target(s_prime)) * done_mask
    q_loss = F.smooth_l1_loss(q(s, a), target)
    q_optimizer.zero_grad()
    q_loss.backward()
    q_optimizer.step()
    mu_loss = -q(s, mu(s)).mean()
    mu_optimizer.zero_grad()
    mu_loss.backward()
    mu_optimizer.step()
    for net, net_target in ((mu, mu_target), (q, q_target)):
        for p, p_target in zip(net.parameters(), net_target.parameters()):
            p_target.data.mul_(1 - TAU).add_(TAU * p.data)
    return q_loss.item(), -mu_loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env, memory = Balance(rng), ReplayBuffer()
    q, q_target, mu, mu_target = QNet(), QNet(), MuNet(), MuNet()
    q_target.load_state_dict(q.state_dict())
    mu_target.load_state_dict(mu.state_dict())
    mu_optimizer = torch.optim.Adam(mu.parameters(), lr=LR_MU)
    q_optimizer = torch.optim.Adam(q.parameters(), lr=LR_Q)
    scores, steps = [], 0
    s, score = env.reset(), 0.0
    while steps < 6000:
        with torch.no_grad():
            a = mu(torch.from_numpy(s)).item() + 0.3 * rng.normal()
        s_prime, r, fallen, timeout = env.step(a)
        memory.put((s, float(np.clip(a, -1, 1)), r, s_prime, 0.0 if fallen else 1.0))
        score, s, steps = score + r, s_prime, steps + 1
        if steps > 500:
            q_loss, q_mean = train(mu, mu_target, q, q_target, memory, q_optimizer, mu_optimizer)
        if fallen or timeout:
            scores.append(score)
            s, score = env.reset(), 0.0
        if steps % 1000 == 0:
            print(f"step {steps} score {np.mean(scores[-10:]):.1f}")
    print(f"final score {np.mean(scores[-10:]):.1f} q loss {q_loss:.4f} mean q {q_mean:.2f}")


if __name__ == "__main__":
    main()
