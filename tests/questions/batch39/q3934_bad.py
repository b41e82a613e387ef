import numpy as np
import torch
import torch.nn as nn


class PrioritizedMemory:
    def __init__(self, memory_size, alpha=0.6, beta=1.0):
        self.memory_size = memory_size
        self.alpha, self.beta = alpha, beta
        self.data = [None] * memory_size
        self.priorities = np.zeros(memory_size)
        self.pos = 0

    def add(self, transition, priority):
        self.data[self.pos] = transition
        self.priorities[self.pos] = priority ** self.alpha
        self.pos = (self.pos + 1) % self.memory_size

    def select(self, batch_size):
        p = self.priorities / self.priorities.sum()
        indices = np.random.choice(self.memory_size, batch_size, p=p)
        out, weights = [], []
        for index in indices:
            priority = p[index]
            weights.append((1. / self.memory_size / priority) ** -self.beta)
            out.append(self.data[index])
        weights = [w / max(weights) for w in weights]
        return out, weights, indices

    def priority_update(self, indices, priorities):
        for index, priority in zip(indices, priorities):
            self.priorities[index] = priority ** self.alpha


class Lottery:
    """two tickets: action 0 pays 1 for sure, action 1 pays 5 with probability 0.1"""

    def __init__(self):
        self.means = {0: 1.0, 1: 0.5}

    def step(self, action):
        return 1.0 if action == 0 else 5.0 * (np.random.rand() < 0.1)


np.random.seed(0)
torch.manual_seed(0)
env, memory = Lottery(), PrioritizedMemory(1000)
q_net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)
for _ in range(1000):
    action = np.random.randint(2)
    memory.add((np.ones(1, dtype=np.float32), action, env.step(action)), 1.0)

for it in range(1500):
    batch, weights, indices = memory.select(64)
    states, actions, rewards = zip(*batch)
    states = torch.from_numpy(np.stack(states))
    actions, rewards = torch.tensor(actions), torch.tensor(rewards, dtype=torch.float32)
    q = q_net(states).gather(1, actions[:, None]).squeeze(1)
    td_error = rewards - q
    loss = (torch.tensor(weights, dtype=torch.float32) * td_error.pow(2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    memory.priority_update(indices, td_error.detach().abs().numpy() + 1e-2)
    if it % 250 == 249:
        with torch.no_grad():
            q0, q1 = q_net(torch.ones(1, 1))[0].tolist()
        print(f"iter {it + 1} loss {loss.item():.4f} Q(0)={q0:.3f} Q(1)={q1:.3f} greedy action {int(q1 > q0)}")
rewards_of_1 = [r for _, a, r in memory.data if a == 1]
print(f"mean reward in the memory: action 0 1.000, action 1 {np.mean(rewards_of_1):.3f}")
