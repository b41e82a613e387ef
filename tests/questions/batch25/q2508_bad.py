import math
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(3)
np.random.seed(3)


class PoleCart:
    limit = 200

    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4)
        self.n = 0
        return self.s.astype(np.float32)

    def step(self, action):
        x, xd, th, thd = self.s
        force = 10.0 if action == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (force + 0.05 * thd * thd * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha])
        self.n += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095 or self.n >= self.limit
        return self.s.astype(np.float32), 1.0, done


class Policy(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, state):
        return self.body(state)


class Reinforce:
    def __init__(self, env, gamma=0.99, lr=0.01, with_baseline=True):
        self.env = env
        self.gamma = gamma
        self.with_baseline = with_baseline
        self.policy = Policy()
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)

    def play(self):
        self.log_probs, self.rewards = [], []
        state, done = self.env.reset(), False
        while not done:
            logits = self.policy(torch.from_numpy(state).unsqueeze(0))
            dist = Categorical(logits=logits)
            action = dist.sample()
            self.log_probs.append(dist.log_prob(action))
            state, reward, done = self.env.step(action.item())
            self.rewards.append(reward)

    def train(self, episodes):
        lengths = []
        for n in range(episodes):
            self.play()
            T = len(self.rewards)
            returns = np.zeros(T)
            g = 0.0
            for t in reversed(range(T)):
                g = self.rewards[t] + self.gamma * g
                returns[t] = g

            ret_tensor = torch.FloatTensor(returns).unsqueeze(1)
            if self.with_baseline:
                ret_tensor = ret_tensor - ret_tensor.mean()
            log_probs = torch.cat(self.log_probs)
            loss = -torch.sum(log_probs * ret_tensor)

            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            lengths.append(T)
            if (n + 1) % 50 == 0:
                print(f"episode {n + 1:4d}  loss {loss.item():10.4f}  mean length {np.mean(lengths[-50:]):.1f}")
        return lengths


agent = Reinforce(PoleCart())
lengths = agent.train(250)
print("first 50 episodes: %.1f   last 50 episodes: %.1f" % (np.mean(lengths[:50]), np.mean(lengths[-50:])))
