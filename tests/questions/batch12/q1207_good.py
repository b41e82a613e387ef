import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def dist(self, obs):
        return Normal(self.net(obs), self.log_std.exp())


class Learner:
    def __init__(self, batch_size, mini_batch_size, clip_range=0.2):
        self.policy = Policy()
        self.value_net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.value_optimizer = torch.optim.SGD(self.value_net.parameters(), lr=0.02)
        self.batch_size, self.mini_batch_size = batch_size, mini_batch_size
        self.clip_range = clip_range

    def learn(self, obs, actions, old_log_probs, targets, advantages):
        minibatch_ratio = self.mini_batch_size / self.batch_size
        total = 0.0
        self.policy_optimizer.zero_grad()
        self.value_optimizer.zero_grad()
        for start in range(0, self.batch_size, self.mini_batch_size):
            part = slice(start, start + self.mini_batch_size)
            log_probs = self.policy.dist(obs[part]).log_prob(actions[part]).sum(1)
            ratio = torch.exp(log_probs - old_log_probs[part])
            clipped = ratio.clamp(1 - self.clip_range, 1 + self.clip_range)
            policy_loss = -torch.min(ratio * advantages[part], clipped * advantages[part]).mean()
            ppo_loss = policy_loss * minibatch_ratio
            value_loss = F.mse_loss(self.value_net(obs[part]).squeeze(1), targets[part]) * minibatch_ratio
            ppo_loss.backward()
            value_loss.backward()
            total += value_loss.item()
        norm = torch.stack([p.grad.norm() for p in self.value_net.parameters()]).norm().item()
        self.policy_optimizer.step()
        self.value_optimizer.step()
        return total, norm


def rollout(learner, n, generator):
    obs = torch.randn(n, 8, generator=generator)
    with torch.no_grad():
        dist = learner.policy.dist(obs)
        actions = dist.sample()
        log_probs = dist.log_prob(actions).sum(1)
        reward = -(actions - obs[:, :2]).pow(2).sum(1) + 3 * obs[:, 2] + 2 * obs[:, 3] * obs[:, 4]
        advantages = reward - learner.value_net(obs).squeeze(1)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return obs, actions, log_probs, reward, advantages


def main():
    for mini_batch_size in (1024, 128):
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(0)
        learner = Learner(1024, mini_batch_size)
        for iteration in range(61):
            loss, norm = learner.learn(*rollout(learner, 1024, generator))
            if iteration % 15 == 0:
                print(f"minibatch {mini_batch_size:4d}, {iteration:2d}: value loss {loss:10.3f}  gradient norm {norm:10.3f}")


if __name__ == "__main__":
    main()
