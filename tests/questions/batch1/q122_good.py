import torch
import torch.nn as nn
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self, features, actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Linear(32, actions))

    def forward(self, state):
        return Categorical(logits=self.net(state))


class Critic(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, state):
        return self.net(state).squeeze(-1)


def routes(n):
    state = torch.rand(n, 4)
    return state


def reward_of(state, action):
    return -10 * state.gather(1, action.unsqueeze(1)).squeeze(1)


torch.manual_seed(0)
actor, critic = Actor(4, 4), Critic(4)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)

for step in range(300):
    state = routes(128)
    policy = actor(state)
    action = policy.sample()
    reward = reward_of(state, action)
    value = critic(state)

    critic_loss = (reward - value).pow(2).mean()
    advantage = reward - value.detach()
    actor_loss = -(advantage * policy.log_prob(action)).mean()

    actor_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    (actor_loss + critic_loss).backward()
    actor_optimizer.step()
    critic_optimizer.step()
    if step % 50 == 0:
        print(f"step {step} reward {reward.mean().item():.3f} critic loss {critic_loss.item():.3f}")
