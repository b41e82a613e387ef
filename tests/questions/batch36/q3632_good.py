import gc

import torch
import torch.nn as nn


class Agent(nn.Module):
    def __init__(self, obs=4, actions=2):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, actions))
        self.value = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def loss(self, obs, actions, returns):
        dist = torch.distributions.Categorical(logits=self.policy(obs))
        baseline = self.value(obs).squeeze(-1)
        advantage = (returns - baseline).detach()
        policy_loss = -(dist.log_prob(actions) * advantage).mean()
        value_loss = (returns - baseline).pow(2).mean()
        return policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()


def resident_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 2 ** 20


def rollout(agent, count=32):
    obs = torch.randn(count, 4)
    with torch.no_grad():
        actions = torch.distributions.Categorical(logits=agent.policy(obs)).sample()
    reward = ((obs[:, 0] > 0).long() == actions).float()
    return obs, actions, reward


torch.manual_seed(11)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
total_loss = 0
start = None
for step in range(1, 2001):
    obs, actions, returns = rollout(agent)
    loss = agent.loss(obs, actions, returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total_loss += loss.item()
    if step % 400 == 0:
        gc.collect()
        start = resident_mb() if start is None else start
        print(f"step {step} mean loss {float(total_loss) / step:.4f} reward {returns.mean():.2f} "
              f"memory grown by {resident_mb() - start:.1f} MB")
