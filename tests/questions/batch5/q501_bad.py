import numpy as np
import torch
from torch import nn
from torch.distributions import MultivariateNormal

torch.manual_seed(0)


class GenericNetwork(nn.Module):
    def __init__(self, lr, n_inputs, n_outputs):
        super().__init__()
        self.fc1 = nn.Linear(n_inputs, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, n_outputs)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)

    def forward(self, observation):
        x = torch.relu(self.fc1(observation))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


def get_params_from_policy_thetas(thetas):
    mu = thetas * np.array([2 * np.pi, np.pi / 2], dtype=np.float32)
    S = 0.05 * np.eye(2, dtype=np.float32)
    return mu, S


class Agent:
    def __init__(self):
        self.actor = GenericNetwork(1e-3, 3, 2)
        self.critic = GenericNetwork(3e-3, 3, 1)
        self.log_probs = None

    def choose_action(self, observation):
        policy_thetas = torch.sigmoid(self.actor(observation))
        mu, S = get_params_from_policy_thetas(policy_thetas.detach().numpy())
        action_probs = MultivariateNormal(torch.as_tensor(mu), torch.as_tensor(S))
        action = action_probs.sample()
        self.log_probs = action_probs.log_prob(action)
        return action

    def learn(self, state, reward):
        self.actor.optimizer.zero_grad()
        self.critic.optimizer.zero_grad()
        delta = reward - self.critic(state).squeeze(-1)
        actor_loss = (-self.log_probs * delta.detach()).mean()
        critic_loss = (delta**2).mean()
        (actor_loss + critic_loss).backward()
        self.actor.optimizer.step()
        self.critic.optimizer.step()


class Antenna:
    """Each mast has its own best direction: the nearer the two angles, the better."""

    def reset(self):
        self.state = torch.rand(16, 3)
        return self.state

    def step(self, action):
        best = torch.stack([1.0 + 3.0 * self.state[:, 0], 0.2 + self.state[:, 1]], 1)
        return -(action - best).pow(2).sum(1)


agent = Agent()
env = Antenna()
score = 0.0
for episode in range(1, 1201):
    state = env.reset()
    reward = env.step(agent.choose_action(state))
    agent.learn(state, reward)
    score += reward.mean().item()
    if episode % 200 == 0:
        print(f"episode {episode}: average reward {score / 200:.3f}")
        score = 0.0
