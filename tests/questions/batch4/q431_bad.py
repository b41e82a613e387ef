import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(3)


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh())
        self.mean_head = nn.Linear(32, act_dim)
        self.logvar_head = nn.Linear(32, act_dim)

    def forward(self, obs):
        h = self.body(obs)
        mean = self.mean_head(h)
        std = torch.exp(0.5 * self.logvar_head(h).clamp(-3, 1))
        return Normal(mean, std)

    def act(self, obs):
        dist = self(obs)
        action = dist.rsample()
        return action, dist.log_prob(action).sum(-1)


class ReachTask:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.goal = torch.randn(self.n, 2)
        return self.goal

    def reward(self, action):
        return -(action - self.goal).pow(2).sum(-1)


env = ReachTask(128)
policy = GaussianPolicy(2, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for iteration in range(300):
    obs = env.reset()
    action, log_prob = policy.act(obs)
    with torch.no_grad():
        reward = env.reward(action)
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    loss = -(log_prob * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 50 == 49:
        grad = policy.mean_head.weight.grad.norm().item()
        print(
            f"iteration {iteration}: reward {reward.mean().item():.3f}, gradient of the mean head {grad:.2e}"
        )
