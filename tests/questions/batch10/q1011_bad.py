import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class Corridor:
    """Walk left or right, the episode ends at either end."""

    def __init__(self, n=7):
        self.n = n

    def reset(self):
        self.pos = random.randrange(1, self.n - 1)
        return self.obs()

    def obs(self):
        o = torch.zeros(self.n)
        o[self.pos] = 1.0
        return o

    def step(self, action):
        self.pos += 1 if action else -1
        done = self.pos in (0, self.n - 1)
        reward = (5.0 if self.pos else 1.0) if done else 0.0
        return self.obs(), reward, done


class DuelingQ(nn.Module):
    def __init__(self, n_obs, n_actions=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU())
        self.value, self.adv = nn.Linear(64, 1), nn.Linear(64, n_actions)

    def forward(self, s):
        h = self.body(s)
        a = self.adv(h)
        return self.value(h) + a - a.mean(dim=1, keepdim=True)


class Agent:
    def __init__(self, n_obs, gamma=0.9):
        self.q_eval = DuelingQ(n_obs)
        self.q_next = copy.deepcopy(self.q_eval)
        self.optimizer = torch.optim.Adam(self.q_eval.parameters(), lr=3e-3)
        self.gamma, self.memory, self.updates = gamma, deque(maxlen=2000), 0

    def learn(self, batch_size=32):
        s, a, r, s2, d = zip(*random.sample(self.memory, batch_size))
        states, states_ = torch.stack(s), torch.stack(s2)
        actions, rewards, dones = torch.tensor(a), torch.tensor(r), torch.tensor(d)
        idx = torch.arange(batch_size)
        q_pred = self.q_eval(states)[idx, actions]
        with torch.no_grad():
            best = self.q_eval(states_).argmax(dim=1)
            q_next = self.q_next(states_)
            q_target = rewards + self.gamma * q_next[idx, best]
            q_next[dones] = 0.0
        loss = F.mse_loss(q_pred, q_target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % 20 == 0:
            self.q_next.load_state_dict(self.q_eval.state_dict())
        return loss.item()


env = Corridor()
agent = Agent(env.n)
loss, steps = 0.0, 0
for episode in range(400):
    s, done = env.reset(), False
    while not done:
        a = random.randrange(2)
        s2, r, done = env.step(a)
        agent.memory.append((s, a, r, s2, done))
        s = s2
        steps += 1
        if len(agent.memory) >= 64 and steps % 3 == 0:
            loss = agent.learn()
    if episode % 80 == 79:
        with torch.no_grad():
            q = agent.q_eval(torch.eye(env.n))[5, 1].item()
        print(f"episode {episode + 1}  loss {loss:.4f}  Q(last cell, right) {q:.2f}  (reward there 5.0)")
