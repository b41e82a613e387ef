import copy
import random
from collections import deque

import torch
import torch.nn as nn


class DuelingDQN(nn.Module):
    def __init__(self, obs, actions):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(obs, 64), nn.ReLU())
        self.value = nn.Linear(64, 1)
        self.advantage = nn.Linear(64, actions)

    def forward(self, x):
        x = self.fc(x)
        adv = self.advantage(x)
        return self.value(x) + adv - adv.mean(1, keepdim=True)


class CentralControl:
    def __init__(self, obs, actions, gamma=0.97, lr=1e-3):
        self.moving_nn = DuelingDQN(obs, actions)
        self.target_nn = copy.deepcopy(self.moving_nn)
        self.gamma, self.actions = gamma, actions
        self.optimizer = torch.optim.Adam(self.moving_nn.parameters(), lr=lr)

    def optimize(self, batch):
        loss = self.calculate_loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def update_target(self):
        self.target_nn.load_state_dict(self.moving_nn.state_dict())

    def get_max_action(self, obs):
        with torch.no_grad():
            return self.moving_nn(obs.unsqueeze(0)).argmax(1).item()

    def calculate_loss(self, batch):
        obs, action, reward, next_obs, done = (torch.stack(t) for t in zip(*batch))
        q = self.moving_nn(obs).gather(1, action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            next_q = self.target_nn(next_obs).max(1)[0]
        expected = reward + self.gamma * next_q * (1 - done)
        return nn.functional.mse_loss(q, expected)


class Chain:
    """A noisy walk on a line; the far end pays."""

    def __init__(self, n=8):
        self.n = n

    def obs(self):
        return torch.eye(self.n)[self.pos] + 0.01 * torch.randn(self.n)

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def step(self, action):
        self.t += 1
        move = 1 if action == 1 else -1
        self.pos = min(max(self.pos + (move if random.random() > 0.1 else -move), 0), self.n - 1)
        done = self.pos == self.n - 1
        return self.obs(), float(done), done or self.t > 40


random.seed(0)
torch.manual_seed(0)
env = Chain()
agent = CentralControl(env.n, 2)
buffer, rewards, epsilon, step = deque(maxlen=2000), [], 1.0, 0
loss = float("nan")
for game in range(60):
    obs, done, total = env.reset(), False, 0.0
    while not done:
        action = random.randrange(2) if random.random() < epsilon else agent.get_max_action(obs)
        next_obs, reward, done = env.step(action)
        buffer.append(
            (obs, torch.tensor(action), torch.tensor(reward), next_obs, torch.tensor(float(reward > 0)))
        )
        obs, total, step = next_obs, total + reward, step + 1
        epsilon = max(0.05, epsilon - 0.001)
        if len(buffer) > 100:
            loss = agent.optimize(random.sample(buffer, 32))
            if step % 100 == 0:
                agent.update_target()
    rewards.append(total)
    if game % 10 == 9:
        print(f"game {game} mean reward {sum(rewards[-10:]) / 10:.2f} loss {loss:.5f}")
