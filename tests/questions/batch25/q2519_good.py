import random
from collections import deque, namedtuple

import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)

Experience = namedtuple("Experience", "state action reward done new_state")


class Corridor:
    length = 8

    def reset(self):
        self.pos, self.t = 0, 0
        return self.observe()

    def observe(self):
        s = torch.zeros(self.length)
        s[self.pos] = 1.0
        return s

    def step(self, action):
        self.t += 1
        reward = 0.0
        if action == 1:
            self.pos += 1
        else:
            reward = 0.05 if self.pos == 0 else 0.0
            self.pos = max(self.pos - 1, 0)
        done = self.t >= 30
        if self.pos == self.length - 1:
            reward, done = 5.0, True
        return self.observe(), reward, done


class HParams:
    eps_start = 1.0
    eps_end = 0.01
    eps_last_frame = 4000
    sync_rate = 50
    batch_size = 32
    gamma = 0.97
    lr = 2e-3
    steps = 8000


class DQNAgent:
    def __init__(self, hp):
        self.hp = hp
        self.env = Corridor()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
        self.target_net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
        self.target_net.load_state_dict(self.net.state_dict())
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=hp.lr)
        self.buffer = deque(maxlen=2000)
        self.global_step = 0
        self.state = self.env.reset()
        self.episode_reward = 0.0
        self.history = []

    def epsilon(self):
        return max(self.hp.eps_end, self.hp.eps_start - (self.global_step + 1) / self.hp.eps_last_frame)

    @torch.no_grad()
    def play_step(self, epsilon):
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            action = int(self.net(self.state).argmax())
        new_state, reward, done = self.env.step(action)
        self.buffer.append(Experience(self.state, action, reward, done, new_state))
        self.episode_reward += reward
        self.state = new_state
        if done:
            self.history.append(self.episode_reward)
            self.episode_reward = 0.0
            self.state = self.env.reset()

    def dqn_loss(self):
        batch = random.sample(self.buffer, self.hp.batch_size)
        states = torch.stack([b.state for b in batch])
        actions = torch.tensor([b.action for b in batch])
        rewards = torch.tensor([b.reward for b in batch])
        dones = torch.tensor([b.done for b in batch])
        new_states = torch.stack([b.new_state for b in batch])
        q = self.net(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            q_next = self.target_net(new_states).max(1).values
            q_next[dones] = 0.0
        return nn.functional.mse_loss(q, rewards + self.hp.gamma * q_next)

    def train(self):
        while self.global_step < self.hp.steps:
            self.play_step(self.epsilon())
            if len(self.buffer) >= 200:
                loss = self.dqn_loss()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            if self.global_step % self.hp.sync_rate == 0:
                self.target_net.load_state_dict(self.net.state_dict())
            self.global_step += 1
            if self.global_step % 2000 == 0:
                recent = self.history[-20:]
                print(f"step {self.global_step} mean reward {sum(recent) / len(recent):.3f} loss {loss.item():.5f}")


agent = DQNAgent(HParams())
agent.train()
print(f"episodes {len(agent.history)} last 20 mean reward {sum(agent.history[-20:]) / 20:.3f}")
