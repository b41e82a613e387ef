import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(3)
np.random.seed(3)


class Corridor:
    n, limit = 7, 20

    def obs(self):
        return np.eye(self.n, dtype=np.float32)[self.pos]

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def step(self, action):
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        self.t += 1
        goal = self.pos == self.n - 1
        return self.obs(), 5.0 if goal else -0.5, goal or self.t >= self.limit


class TwoHeadNetwork(nn.Module):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        self.fc = nn.Linear(obs_dim, 64)
        self.policy = nn.Linear(64, action_dim)
        self.value = nn.Linear(64, 1)

    def forward(self, state):
        h = F.relu(self.fc(state))
        return self.policy(h), self.value(h)


class A2CAgent:
    def __init__(self, env, gamma=0.99, lr=3e-3):
        self.env, self.gamma = env, gamma
        self.model = TwoHeadNetwork(env.n, 2)
        self.optimizer = optim.Adam(self.model.parameters(), lr=lr)

    def get_action(self, state):
        with torch.no_grad():
            logits, _ = self.model(torch.from_numpy(state))
        return Categorical(logits=logits).sample().item()

    def update(self, trajectory):
        states = torch.from_numpy(np.stack([s for s, _, _ in trajectory]))
        actions = torch.tensor([a for _, a, _ in trajectory])
        rewards = torch.tensor([r for _, _, r in trajectory])
        discounted_rewards = []
        for j in range(rewards.size(0)):
            discount = self.gamma ** torch.arange(rewards.size(0) - j)
            discounted_rewards.append(torch.sum(discount * rewards[j:]))
        returns = torch.stack(discounted_rewards).view(-1, 1)
        value_targets = returns

        logits, values = self.model(states)
        dist = Categorical(logits=logits)
        value_loss = F.mse_loss(values, value_targets)
        advantage = value_targets - values
        policy_loss = (-dist.log_prob(actions).view(-1, 1) * advantage.detach()).mean()
        loss = policy_loss + value_loss - 0.001 * dist.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return value_loss.item(), (values.detach() - returns)


env = Corridor()
agent = A2CAgent(env)
gaps, scores = [], []
for episode in range(600):
    state, done, trajectory = env.reset(), False, []
    while not done:
        action = agent.get_action(state)
        next_state, reward, done = env.step(action)
        trajectory.append((state, action, reward))
        state = next_state
    value_loss, gap = agent.update(trajectory)
    scores.append(sum(r for _, _, r in trajectory))
    gaps.append(gap[-1].item())
    if (episode + 1) % 100 == 0:
        print(f"episode {episode + 1}  score {np.mean(scores[-100:]):.2f}  value loss {value_loss:.3f}"
              f"  value - return before the goal {np.mean(gaps[-50:]):+.2f}")
