import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self, obs=6):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))
        self.value_head = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def act(self, obs):
        dist = Normal(self.actor(obs), self.log_std.exp())
        action = dist.sample()
        return action, dist.log_prob(action), self.value_head(obs)

    def evaluate(self, obs, action):
        dist = Normal(self.actor(obs), self.log_std.exp())
        return dist.log_prob(action), self.value_head(obs)[:, 0]


def rollout(model, task, n=128):
    obs = torch.randn(n, 6)
    with torch.no_grad():
        action, log_prob, value = model.act(obs)
    reward = 3.0 * obs[:, :1] - (action - obs @ task).pow(2)
    return obs, action, log_prob, value, reward


def critic_loss(values, prev_values, returns, clip=0.5):
    clipped = prev_values + (values - prev_values).clamp(-clip, clip)
    plain = F.huber_loss(values, returns, reduction="none", delta=10.0)
    bounded = F.huber_loss(clipped.expand_as(plain), returns.expand_as(plain), reduction="none", delta=10.0)
    return torch.max(plain, bounded).mean()


def main():
    task = torch.randn(6, 1) / 2
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for iteration in range(1, 121):
        obs, action, old_log_prob, prev_values, returns = rollout(model, task)
        advantage = returns - prev_values
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        for _ in range(4):
            log_prob, values = model.evaluate(obs, action)
            ratio = (log_prob - old_log_prob).exp()
            policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            loss = policy + 0.5 * critic_loss(values, prev_values, returns)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if iteration % 30 == 0:
            spread = values.std().item()
            explained = 1 - (returns[:, 0] - values.detach()).var() / returns.var()
            print(
                f"iteration {iteration}: reward {returns.mean():.3f} explained variance {explained:.3f} spread of values {spread:.3f}"
            )


if __name__ == "__main__":
    main()
