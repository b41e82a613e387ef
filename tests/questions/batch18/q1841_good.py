import torch
from torch import nn

torch.manual_seed(1)
HORIZON, GAMMA = 20, 0.99


def huber_loss(e, d):
    a = (abs(e) <= d).float()
    b = (abs(e) > d).float()
    return a * e**2 / 2 + b * d * (abs(e) - d / 2)


class R_Critic(nn.Module):
    def __init__(self, obs_dim, hidden=48):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.v_out = nn.Linear(hidden, 1)

    def forward(self, obs):
        return self.v_out(self.base(obs)).squeeze(-1)


class CriticTrainer:
    def __init__(self, obs_dim, lr=3e-3, huber_delta=10.0, max_grad_norm=10.0):
        self.critic = R_Critic(obs_dim)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=lr, eps=1e-5)
        self.huber_delta, self.max_grad_norm = huber_delta, max_grad_norm

    def ppo_update(self, obs, returns):
        values = self.critic(obs)
        error = returns - values
        value_loss = huber_loss(error, self.huber_delta).mean()
        self.optimizer.zero_grad()
        value_loss.backward()
        nn.utils.clip_grad_norm_(self.critic.parameters(), self.max_grad_norm)
        self.optimizer.step()
        return value_loss.item()


def collect(n_rollout_threads):
    start = torch.rand(n_rollout_threads, 2) * 10 - 5
    velocity = torch.randn(n_rollout_threads, 2) * 0.1
    obs, rewards = [], []
    position = start
    for t in range(HORIZON):
        remaining = torch.full((n_rollout_threads, 1), 1 - t / HORIZON)
        obs.append(torch.cat([position, velocity, remaining], dim=1))
        rewards.append(-position.norm(dim=1))
        position = position + velocity
    returns, running = [], torch.zeros(n_rollout_threads)
    for reward in reversed(rewards):
        running = reward + GAMMA * running
        returns.insert(0, running)
    return torch.stack(obs).flatten(0, 1), torch.stack(returns).flatten()


trainer = CriticTrainer(obs_dim=5)
for episode in range(200):
    obs, returns = collect(32)
    value_loss = trainer.ppo_update(obs, returns)
    if (episode + 1) % 50 == 0:
        print(f"episode {episode + 1}: value_loss {value_loss:.3f}")

with torch.no_grad():
    obs, returns = collect(256)
    values = trainer.critic(obs)
print(f"mean return {returns.mean():.2f}, mean value {values.mean():.2f}")
print(f"explained variance {1 - (returns - values).var() / returns.var():.3f}")
print(f"mean |error| {(returns - values).abs().mean():.2f}")
