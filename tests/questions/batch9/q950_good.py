import math

import torch
import torch.nn as nn

torch.manual_seed(0)


def build_mlp(in_dim, out_dim, hidden=(64, 64)):
    layers, units = [], in_dim
    for h in hidden:
        layers += [nn.Linear(units, h), nn.ReLU()]
        units = h
    return nn.Sequential(*layers, nn.Linear(units, out_dim))


def reparameterize(means, log_stds):
    noises = torch.randn_like(means)
    us = means + noises * log_stds.exp()
    actions = torch.tanh(us)
    log_pis = (-0.5 * noises.pow(2) - log_stds).sum(dim=-1, keepdim=True)
    log_pis = log_pis - 0.5 * math.log(2 * math.pi) * means.size(-1)
    return actions, log_pis - torch.log(1 - actions.pow(2) + 1e-6).sum(dim=-1, keepdim=True)


class StateDependentPolicy(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.net = build_mlp(state_dim, 2 * action_dim)

    def forward(self, states):
        return torch.tanh(self.net(states).chunk(2, dim=-1)[0])

    def sample(self, states):
        means, log_stds = self.net(states).chunk(2, dim=-1)
        return reparameterize(means, log_stds.clamp(-20, 2))


def reward_fn(states, actions):
    goal = torch.stack([torch.sin(states[:, 0]), states[:, 1] * states[:, 2]], dim=1)
    return 1.0 - (actions - goal.clamp(-0.9, 0.9)).pow(2).sum(1, keepdim=True)


actor = StateDependentPolicy(3, 2)
critic = build_mlp(3 + 2, 1)
optim_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
optim_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
alpha = 0.02

for step in range(1, 1501):
    states = torch.rand(128, 3) * 2 - 1
    with torch.no_grad():
        taken = torch.rand(128, 2) * 2 - 1
        rewards = reward_fn(states, taken)
    loss_critic = (critic(torch.cat([states, taken], 1)) - rewards).pow(2).mean()
    optim_critic.zero_grad()
    loss_critic.backward()
    optim_critic.step()

    actions, log_pis = actor.sample(states)
    loss_actor = (alpha * log_pis - critic(torch.cat([states, actions], 1))).mean()
    optim_actor.zero_grad()
    loss_actor.backward()
    optim_actor.step()
    if step % 300 == 0:
        with torch.no_grad():
            ret = reward_fn(states, actor(states)).mean()
        print(
            f"step {step}  critic {loss_critic.item():.4f}  actor {loss_actor.item():.4f}  return {ret:.3f}"
        )
