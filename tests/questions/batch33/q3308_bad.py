import torch
from torch import nn
from torch.distributions import Independent, Normal

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1) - 0.5)

    def forward(self, s):
        mu = self.net(s)
        return mu, self.log_std.exp().expand_as(mu)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s):
        return self.net(s).flatten()


class A2CPolicy:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        params = list(self.actor.parameters()) + list(self.critic.parameters())
        self.optim = torch.optim.Adam(params, lr=2e-3)

    def dist(self, s):
        return Normal(*self.actor(s))

    def learn(self, s, a, r):
        self.optim.zero_grad()
        dist = self.dist(s)
        v = self.critic(s)
        a_loss = -(dist.log_prob(a) * (r - v).detach()).mean()
        vf_loss = nn.functional.mse_loss(r, v)
        ent_loss = dist.entropy().mean()
        loss = a_loss + 0.5 * vf_loss - 0.005 * ent_loss
        loss.backward()
        nn.utils.clip_grad_norm_(self.actor.parameters(), 0.5)
        self.optim.step()
        return a_loss.item(), vf_loss.item()


def reward(s, a):
    best = s[:, 0] - 0.5 * s[:, 1]
    return 1.0 - (a[:, 0] - best) ** 2


def main():
    policy = A2CPolicy()
    for step in range(300):
        s = torch.randn(64, 3)
        with torch.no_grad():
            a = policy.dist(s).sample()
        r = reward(s, a)
        losses = policy.learn(s, a, r)
        if step % 75 == 0:
            print(step, f"reward {r.mean().item():.3f} actor {losses[0]:.3f} critic {losses[1]:.3f}")
    with torch.no_grad():
        s = torch.randn(2000, 3)
        print(f"mean reward of the mode {reward(s, policy.actor(s)[0]).mean().item():.3f}")


main()
