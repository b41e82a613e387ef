import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)


class TwinCritic(nn.Module):
    def __init__(self, state_dim, action_dim, hidden=64):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(state_dim + action_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.q2 = nn.Sequential(nn.Linear(state_dim + action_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.q1(sa), self.q2(sa)


class ReplayBuffer:
    def __init__(self):
        self.storage = []

    def add(self, data):
        self.storage.append(data)

    def sample(self, batch_size):
        rows = [self.storage[i] for i in rng.integers(0, len(self.storage), batch_size)]
        return [np.array(col, dtype=np.float32).reshape(batch_size, -1) for col in zip(*rows)]


def collect(buffer, episodes=150):
    for _ in range(episodes):
        pos, done, t = rng.uniform(-1.0, 0.5), 0.0, 0
        while not done and t < 40:
            action = rng.uniform(-0.05, 0.25)
            nxt = max(pos + action, -1.0)
            done = float(nxt >= 1.0)
            buffer.add((pos, nxt, action, 10.0 * done - 0.1, done))
            pos, t = nxt, t + 1


class BCQ:
    def __init__(self, state_dim=1, action_dim=1, lmbda=0.75):
        self.critic = TwinCritic(state_dim, action_dim)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.lmbda = lmbda

    def train(self, buffer, iterations, batch_size=100, discount=0.95, tau=0.02):
        for _ in range(iterations):
            s, s2, a, r, d = buffer.sample(batch_size)
            state, next_state = torch.from_numpy(s), torch.from_numpy(s2)
            action, reward = torch.from_numpy(a), torch.from_numpy(r)
            done = torch.from_numpy(1 - d)
            with torch.no_grad():
                state_rep = next_state.repeat_interleave(6, 0)
                cand = torch.empty(len(state_rep), 1).uniform_(-0.05, 0.25)
                t1, t2 = self.critic_target(state_rep, cand)
                target_Q = self.lmbda * torch.min(t1, t2) + (1 - self.lmbda) * torch.max(t1, t2)
                target_Q = target_Q.view(batch_size, -1).max(1)[0].view(-1, 1)
                target_Q = reward + done * discount * target_Q
            q1, q2 = self.critic(state, action)
            loss = F.mse_loss(q1, target_Q) + F.mse_loss(q2, target_Q)
            self.critic_optimizer.zero_grad()
            loss.backward()
            self.critic_optimizer.step()
            for p, tp in zip(self.critic.parameters(), self.critic_target.parameters()):
                tp.data.copy_(tau * p.data + (1 - tau) * tp.data)
        return loss.item()


buffer = ReplayBuffer()
collect(buffer)
agent = BCQ()
probe = torch.tensor([[-0.8], [0.0], [0.95]])
for it in range(8):
    loss = agent.train(buffer, 250)
    with torch.no_grad():
        q = agent.critic(probe, torch.full((3, 1), 0.2))[0].squeeze(1)
    print(
        f"iter {250 * (it + 1)}  critic loss {loss:.3f}  Q(-0.8) {q[0]:.1f}  Q(0) {q[1]:.1f}  Q(0.95) {q[2]:.1f}"
    )
