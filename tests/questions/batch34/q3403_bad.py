import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class RNNAgent(nn.Module):
    def __init__(self, obs=8, hidden=32, actions=4):
        super().__init__()
        self.fc1 = nn.Linear(obs, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, actions)
        self.hidden = hidden

    def init_hidden(self, batch):
        return torch.zeros(batch, self.hidden)

    def forward(self, obs, h):
        h = self.rnn(F.relu(self.fc1(obs)), h)
        return self.fc2(h), h


class Env:
    def reset(self, agents=4):
        self.state = torch.randn(agents, 8)
        return self.state

    def step(self, actions):
        reward = (self.state[:, :4] * actions).sum().item()
        self.state = torch.randn_like(self.state)
        return self.state, reward


class ReplayBuffer:
    def __init__(self, size):
        self.size, self.episodes = size, []

    def insert(self, episode):
        self.episodes.append(episode)
        self.episodes = self.episodes[-self.size :]

    def sample(self, count):
        return random.sample(self.episodes, count)


class EpisodeRunner:
    def __init__(self, env, agent, limit=12):
        self.env, self.agent, self.limit = env, agent, limit

    def run(self):
        obs, h = self.env.reset(), self.agent.init_hidden(4)
        episode = {"obs": [], "actions": [], "reward": []}
        for _ in range(self.limit):
            q, h = self.agent(obs, h)
            actions = F.gumbel_softmax(q, hard=True)
            next_obs, reward = self.env.step(actions)
            episode["obs"].append(obs)
            episode["actions"].append(actions)
            episode["reward"].append(reward)
            obs = next_obs
        return episode


def learn(agent, optimizer, batch):
    loss = 0.0
    for episode in batch:
        h = agent.init_hidden(4)
        for obs, actions, reward in zip(episode["obs"], episode["actions"], episode["reward"]):
            q, h = agent(obs, h)
            chosen = (q * actions.detach()).sum(1)
            loss = loss + F.mse_loss(chosen.mean(), torch.tensor(reward))
    loss = loss / len(batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    agent = RNNAgent()
    buffer = ReplayBuffer(200)
    runner = EpisodeRunner(Env(), agent)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    for episode in range(50):
        buffer.insert(runner.run())
        if len(buffer.episodes) >= 8:
            loss = learn(agent, optimizer, buffer.sample(4))
    held = sum(a.grad_fn is not None for e in buffer.episodes for a in e["actions"])
    print("loss", round(loss, 3), "stored actions with a graph:", held)


main()
