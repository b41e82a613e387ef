import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class PolicyNetContinuous(nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim):
        super().__init__()
        self.fc1 = nn.Linear(state_dim, hidden_dim)
        self.fc_mu = nn.Linear(hidden_dim, action_dim)
        self.fc_std = nn.Linear(hidden_dim, action_dim)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        mu = self.fc_mu(x)
        std = F.softplus(self.fc_std(x))
        dist = Normal(mu, std)
        normal_sample = dist.rsample()
        log_prob = dist.log_prob(normal_sample)
        action = torch.tanh(normal_sample)
        log_prob = log_prob - torch.log(1 - torch.tanh(action).pow(2) + 1e-7)
        return action, log_prob


class QValueNet(nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim):
        super().__init__()
        self.fc1 = nn.Linear(state_dim + action_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, hidden_dim)
        self.out = nn.Linear(hidden_dim, 1)

    def forward(self, s, a):
        x = F.relu(self.fc1(torch.cat([s, a], dim=1)))
        return self.out(F.relu(self.fc2(x)))


def reward_of(state, action):
    return 2.0 - (action - 0.9 - 0.05 * state).pow(2)


def histogram_entropy(actor, n=20000, bins=100):
    with torch.no_grad():
        a, logp = actor(torch.zeros(n, 1))
    p, edges = np.histogram(a.numpy().ravel(), bins=bins, range=(-1, 1), density=True)
    w = edges[1] - edges[0]
    return -logp.mean().item(), -np.sum(p[p > 0] * np.log(p[p > 0])) * w


torch.manual_seed(0)
np.random.seed(0)
actor, critic = PolicyNetContinuous(1, 64, 1), QValueNet(1, 64, 1)
log_alpha = torch.tensor(np.log(0.01), dtype=torch.float, requires_grad=True)
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
alpha_opt = torch.optim.Adam([log_alpha], lr=1e-2)
target_entropy = -0.5
for step in range(1500):
    state = torch.rand(128, 1) * 2 - 1
    action, log_prob = actor(state)
    q_loss = F.mse_loss(critic(state, action.detach()), reward_of(state, action.detach()))
    critic_opt.zero_grad()
    q_loss.backward()
    critic_opt.step()
    actor_loss = torch.mean(log_alpha.exp().detach() * log_prob - critic(state, action))
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    alpha_loss = torch.mean((-log_prob - target_entropy).detach() * log_alpha.exp())
    alpha_opt.zero_grad()
    alpha_loss.backward()
    alpha_opt.step()
    if step % 250 == 249:
        by_model, by_histogram = histogram_entropy(actor)
        print(f"step {step + 1} q loss {q_loss.item():.4f} alpha {log_alpha.exp().item():.3f} "
              f"entropy -E[log_prob] {by_model:.3f} of the sampled actions {by_histogram:.3f}")
print("target entropy", target_entropy)
