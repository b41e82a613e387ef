import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
random.seed(1)
torch.manual_seed(1)

N, GAMMA = 8, 0.95


class Corridor:
    def reset(self):
        self.pos, self.t = 2, 0
        return self.obs()

    def obs(self):
        x = torch.zeros(N)
        x[self.pos] = 1.0
        return x

    def step(self, a):
        self.t += 1
        self.pos += (-1, 1, 0)[a]
        if self.pos <= 0:
            return self.obs(), -1.0, True
        if self.pos >= N - 1:
            return self.obs(), 1.0, True
        return self.obs(), -0.02, self.t >= 40


class DuelingNet(nn.Module):
    def __init__(self, n_states, n_actions, hidden_dim=64):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(n_states, hidden_dim), nn.ReLU())
        self.advantage = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, n_actions))
        self.value = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))

    def forward(self, x):
        x = self.hidden(x)
        advantage = self.advantage(x)
        value = self.value(x)
        return value + advantage - advantage.mean(dim=1, keepdim=True)


env = Corridor()
policy_net, target_net = DuelingNet(N, 3), DuelingNet(N, 3)
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=2000)
eps, updates = 1.0, 0

for episode in range(121):
    s, done, ret = env.reset(), False, 0.0
    while not done:
        if random.random() < eps:
            a = random.randrange(3)
        else:
            with torch.no_grad():
                a = policy_net(s.unsqueeze(0)).argmax(1).item()
        s2, r, done = env.step(a)
        memory.append((s, a, r, s2, float(done)))
        s, ret = s2, ret + r
        if len(memory) < 64:
            continue
        batch = random.sample(memory, 64)
        bs = torch.stack([b[0] for b in batch])
        ba = torch.tensor([b[1] for b in batch])
        br = torch.tensor([b[2] for b in batch])
        bs2 = torch.stack([b[3] for b in batch])
        bd = torch.tensor([b[4] for b in batch])
        q = policy_net(bs).gather(1, ba.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            target = br + GAMMA * (1 - bd) * target_net(bs2).max(1).values
        loss = F.mse_loss(q, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updates += 1
        if updates % 100 == 0:
            target_net.load_state_dict(policy_net.state_dict())
    eps = max(0.05, eps * 0.96)
    if episode % 30 == 0 and len(memory) >= 64:
        print(f"episode {episode}: return {ret:.2f} loss {loss.item():.5f}")

with torch.no_grad():
    states = torch.eye(N)
    together = policy_net(states)
    alone = torch.cat([policy_net(states[i:i + 1]) for i in range(N)])
print("Q of state 6, computed with the others:", [round(v, 3) for v in together[6].tolist()])
print("Q of state 6, computed alone          :", [round(v, 3) for v in alone[6].tolist()])
print(f"largest difference over all states {(together - alone).abs().max().item():.4f}")
