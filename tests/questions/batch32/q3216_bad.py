import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self, state=3, action=1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state + action, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1))


class Actor(nn.Module):
    def __init__(self, state=3, action=1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state, 32), nn.ReLU(), nn.Linear(32, action))

    def forward(self, s):
        return torch.tanh(self.net(s))


class Agent:
    def __init__(self, tau=0.02, gamma=0.9):
        self.tau, self.gamma = tau, gamma
        self.actor, self.critic = Actor(), Critic()
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    def update_network_parameters(self):
        tau = self.tau
        target_actor_state_dict = dict(self.target_actor.named_parameters())
        actor_state_dict = dict(self.actor.named_parameters())
        for name in actor_state_dict:
            actor_state_dict[name] = (
                tau * actor_state_dict[name].clone()
                + (1 - tau) * target_actor_state_dict[name].clone()
            )
        self.actor.load_state_dict(actor_state_dict)

        target_critic_state_dict = dict(self.target_critic.named_parameters())
        critic_state_dict = dict(self.critic.named_parameters())
        for name in critic_state_dict:
            critic_state_dict[name] = (
                tau * critic_state_dict[name].clone()
                + (1 - tau) * target_critic_state_dict[name].clone()
            )
        self.critic.load_state_dict(critic_state_dict)

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            target = r + self.gamma * self.target_critic(s2, self.target_actor(s2))
        critic_loss = F.mse_loss(self.critic(s, a), target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        self.update_network_parameters()
        return critic_loss.item()


def reward(s, a):
    return 1.0 - (a - torch.sin(s[:, :1])) ** 2


def main():
    agent = Agent()
    for step in range(600):
        s = torch.randn(64, 3)
        a = torch.rand(64, 1) * 2 - 1
        loss = agent.learn(s, a, reward(s, a), torch.randn(64, 3))
        if step % 120 == 119:
            t = torch.randn(500, 3)
            with torch.no_grad():
                got = reward(t, agent.actor(t)).mean().item()
            print(f"{step} critic loss {loss:.4f} reward of the policy {got:.4f}")


if __name__ == "__main__":
    main()
