import torch
import torch.nn as nn
from torch.distributions import Categorical


class BitString:
    """States are strings of 0, 1 and not yet set (-1), filled from left to right."""

    def __init__(self, length=5):
        self.length = length
        self.target = torch.tensor([1, 0, 1, 1, 0])[:length]

    def source(self, n):
        return -torch.ones(n, self.length)

    def mask_invalid(self, states, step):
        mask = torch.zeros(states.shape[0], 3, dtype=torch.bool)
        mask[:, 2] = True
        return mask

    def get_logprobs(self, policy_outputs, actions, mask):
        logits = policy_outputs.clone()
        logits[mask] = -1000.0
        logprobs = torch.log_softmax(logits, dim=1)
        return logprobs.gather(1, actions.unsqueeze(1)).squeeze(1)

    def log_reward(self, states):
        return 1.5 * (states == self.target).sum(1).float()


class GFlowNetAgent:
    def __init__(self, env):
        self.env = env
        self.policy = nn.Sequential(nn.Linear(env.length, 64), nn.LeakyReLU(), nn.Linear(64, 3))
        self.logZ = nn.Parameter(torch.zeros(1))
        self.opt = torch.optim.Adam(
            [{"params": self.policy.parameters()}, {"params": [self.logZ], "lr": 5e-2}], lr=5e-3
        )

    def sample(self, n):
        states, logpf = self.env.source(n), torch.zeros(n)
        for step in range(self.env.length):
            outputs = self.policy(states)
            mask = self.env.mask_invalid(states, step)
            with torch.no_grad():
                actions = Categorical(logits=outputs.masked_fill(mask, -1000.0)).sample()
            logpf = logpf + self.env.get_logprobs(outputs, actions, mask)
            states = states.clone()
            states[:, step] = actions.float()
        return states, logpf

    def trajectory_balance(self, states, logpf):
        return (self.logZ + logpf - self.env.log_reward(states)).pow(2).mean()

    def train(self, iterations):
        for it in range(iterations):
            states, logpf = self.sample(64)
            loss = self.trajectory_balance(states, logpf)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if it % 50 == 0 or it == iterations - 1:
                reward = self.env.log_reward(states).mean().item()
                print(
                    f"it {it:4d} loss {loss.item():8.4f} logZ {self.logZ.item():6.3f} log reward {reward:.3f}"
                )


torch.manual_seed(0)
GFlowNetAgent(BitString()).train(400)
