import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(1)


class PPOAgent(nn.Module):
    def __init__(self, n_states, n_actions):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_states, 64), nn.ReLU())
        self.actor = nn.Linear(64, n_actions)
        self.critic = nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


class GridBandit:
    """One step grid: the right move depends on the cell."""

    def __init__(self, n_states, n_actions):
        self.n_states = n_states
        self.best = torch.arange(n_states) % n_actions

    def reset(self, n):
        self.cell = torch.randint(0, self.n_states, (n,))
        return nn.functional.one_hot(self.cell, self.n_states).float()

    def step(self, action):
        return (action == self.best[self.cell]).float()


def policy_loss_fn(ratio, advantage, clipping):
    unclipped = -ratio * advantage
    clipped = -ratio.clamp(1 - clipping, 1 + clipping) * advantage
    return torch.min(unclipped, clipped).mean()


env = GridBandit(12, 4)
agent = PPOAgent(12, 4)
optim = torch.optim.Adam(agent.parameters(), lr=1e-2)

for rollout in range(40):
    state = env.reset(64)
    with torch.no_grad():
        dist, value = agent(state)
        action = dist.sample()
        old_log_prob = dist.log_prob(action)
    reward = env.step(action)
    advantage = reward - value
    largest = 0.0
    for epoch in range(30):
        dist, value = agent(state)
        ratio = (dist.log_prob(action) - old_log_prob).exp()
        policy_loss = policy_loss_fn(ratio, advantage, 0.2)
        value_loss = (value - reward).pow(2).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        largest = max(largest, ratio.max().item())
    if rollout % 5 == 0:
        print(f"rollout {rollout:2d} reward {reward.mean():.3f} policy loss {policy_loss.item():8.3f} largest ratio {largest:.2f}")
