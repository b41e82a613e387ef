import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(0)
random.seed(0)


class PolicyNet(nn.Module):
    def __init__(self, state=6, action=4, hidden=48):
        super().__init__()
        self.fc = nn.Linear(state, hidden)
        self.fc_mu = nn.Linear(hidden, action)
        self.fc_std = nn.Linear(hidden, action)

    def forward(self, x):
        x = F.relu(self.fc(x))
        dist = Normal(self.fc_mu(x), F.softplus(self.fc_std(x)) + 1e-3)
        sample = dist.rsample()
        log_prob = dist.log_prob(sample)
        action = torch.tanh(sample)
        log_prob = (log_prob - torch.log(1 - action.pow(2) + 1e-6)).sum(1, keepdim=True)
        return action, log_prob


class QNet(nn.Module):
    def __init__(self, state=6, action=4, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state + action, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x, a):
        return self.net(torch.cat([x, a], dim=1))


class SAC:
    def __init__(self, gamma=0.9, alpha=0.1, tau=0.02):
        self.actor, self.critic, self.target = PolicyNet(), QNet(), QNet()
        self.target.load_state_dict(self.critic.state_dict())
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.gamma, self.alpha, self.tau = gamma, alpha, tau

    def calc_target(self, rewards, next_states):
        with torch.no_grad():
            actions, log_prob = self.actor(next_states)
            next_value = self.target(next_states, actions) - self.alpha * log_prob
            return rewards + self.gamma * next_value

    def update(self, states, actions, rewards, next_states):
        td_target = self.calc_target(rewards, next_states)
        critic_loss = F.mse_loss(self.critic(states, actions), td_target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        new_actions, log_prob = self.actor(states)
        actor_loss = (self.alpha * log_prob - self.critic(states, new_actions)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        for p, t in zip(self.critic.parameters(), self.target.parameters()):
            t.data.mul_(1 - self.tau).add_(self.tau * p.data)
        return critic_loss.item()


def environment(states, actions, mix):
    wanted = torch.tanh(states @ mix)
    reward = -(actions - wanted).pow(2).sum(1, keepdim=True)
    return reward, torch.randn_like(states)


def main():
    mix = torch.randn(6, 4)
    agent = SAC()
    for step in range(300):
        states = torch.randn(64, 6)
        with torch.no_grad():
            actions, _ = agent.actor(states)
        rewards, next_states = environment(states, actions, mix)
        loss = agent.update(states, actions, rewards, next_states)
        if step % 75 == 74:
            print(step, f"critic loss {loss:.3f} reward {rewards.mean().item():.3f}")


main()
