import torch
import torch.nn as nn

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1)).squeeze(-1)


def reward_fn(s, a):
    return 1.0 - (a.squeeze(-1) - torch.tanh(s[:, 0])).abs()


class PIRLAgent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=5e-3)

    def update(self, s):
        with torch.no_grad():
            a = (self.actor(s) + 0.5 * torch.randn(len(s), 1)).clamp(-1, 1)
            r = reward_fn(s, a)
        critic_loss = (self.critic(s, a) - r).pow(2).mean()
        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()

        q_values = self.critic(s, self.actor(s))
        actor_loss = -q_values.mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        return r.mean().item(), critic_loss.item(), actor_loss.item()


agent = PIRLAgent()
for step in range(501):
    s = torch.randn(128, 3)
    r, closs, aloss = agent.update(s)
    if step % 100 == 0:
        print(f"step {step:4d} reward {r:7.3f} critic loss {closs:.4f} actor loss {aloss:.4f}")
s = torch.randn(1000, 3)
print("reward of the policy:", round(reward_fn(s, agent.actor(s)).mean().item(), 3))
