import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)

CELLS, GOAL, GAMMA, BATCH = 13, 6, 0.95, 64


class Hallway:
    def reset(self):
        self.pos = random.choice([0, 1, 2, 3, 9, 10, 11, 12])
        self.t = 0
        return self.observe()

    def observe(self):
        x = [0.0] * CELLS
        x[self.pos] = 1.0
        return x

    def step(self, action):
        self.t += 1
        self.pos = min(CELLS - 1, max(0, self.pos + (1 if action == 1 else -1)))
        if self.pos == GOAL:
            return self.observe(), 100.0, True
        return self.observe(), -1.0, self.t >= 40


def build():
    return nn.Sequential(nn.Linear(CELLS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


policy, target = build(), build()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01, momentum=0.9)
memory = deque(maxlen=5000)


def optimize():
    batch = random.sample(memory, BATCH)
    s, a, r, s2, d = map(torch.tensor, zip(*batch))
    q = policy(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        goal = r + GAMMA * target(s2).max(1).values * (1 - d)
    loss = F.mse_loss(q, goal)
    optimizer.zero_grad()
    loss.backward()
    for param in policy.parameters():
        param.grad.data.clamp(-1, 1)
    optimizer.step()
    return loss.item()


def greedy_return(episodes=40):
    total = 0.0
    for _ in range(episodes):
        s, done = env.reset(), False
        while not done:
            with torch.no_grad():
                action = policy(torch.tensor(s)).argmax().item()
            s, r, done = env.step(action)
            total += r
    return total / episodes


env, steps = Hallway(), 0
for episode in range(320):
    s, done = env.reset(), False
    epsilon = max(0.2, 1 - episode / 160)
    while not done:
        with torch.no_grad():
            q = policy(torch.tensor(s))
        action = random.randrange(2) if random.random() < epsilon else q.argmax().item()
        s2, r, done = env.step(action)
        memory.append((s, action, r, s2, float(done)))
        s, steps = s2, steps + 1
        if len(memory) >= 200:
            loss = optimize()
        if steps % 200 == 0:
            target.load_state_dict(policy.state_dict())
    if episode % 80 == 79:
        print(f"episode {episode + 1}  loss {loss:.2f}  q max {q.max().item():.1f}")

print(f"greedy return {greedy_return():.1f}")
