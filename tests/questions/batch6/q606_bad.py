import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, n_state, n_action, hidden=64):
        super().__init__()
        self.l1 = nn.Linear(n_state, hidden)
        self.l2 = nn.Linear(hidden, n_action)

    def forward(self, state):
        return torch.tanh(self.l2(F.relu(self.l1(state))))


class Critic(nn.Module):
    def __init__(self, n_state, n_action, hidden=64):
        super().__init__()
        self.l1 = nn.Linear(n_state + n_action, hidden)
        self.l2 = nn.Linear(hidden, 1)

    def forward(self, state, action):
        return self.l2(F.relu(self.l1(torch.cat([state, action], -1))))


class Agent:
    def __init__(self, n_state=4, n_action=2, gamma=0.95, tau=0.02):
        self.actor = Actor(n_state, n_action)
        self.critic = Critic(n_state, n_action)
        self.target_actor = Actor(n_state, n_action)
        self.target_critic = Critic(n_state, n_action)
        self.target_actor.load_state_dict(self.actor.state_dict())
        self.target_critic.load_state_dict(self.critic.state_dict())
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=5e-4)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.gamma, self.tau = gamma, tau

    def learn(self, state, action, reward, next_state):
        with torch.no_grad():
            next_action = self.target_actor(next_state)
            target_q = reward + self.gamma * self.target_critic(next_state, next_action)
        critic_loss = F.mse_loss(self.critic(state, action), target_q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actor_loss = -self.critic(state, self.actor(state)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        return critic_loss.item(), actor_loss.item()

    def update_target_soft(self):
        for t_p, p in zip(self.target_critic.parameters(), self.critic.parameters(), strict=True):
            t_p.data.copy_(self.tau * p.data + (1 - self.tau) * t_p.data)


agent = Agent()
state = torch.randn(64, 4)
for step in range(1, 1001):
    with torch.no_grad():
        action = (agent.actor(state) + 0.2 * torch.randn(64, 2)).clamp(-1, 1)
    reward = -(state[:, :2] + action).pow(2).sum(1, keepdim=True)
    next_state = torch.cat([0.9 * state[:, :2] + 0.3 * action, 0.9 * state[:, 2:]], 1)
    next_state = next_state + 0.2 * torch.randn(64, 4)
    critic_loss, actor_loss = agent.learn(state, action, reward, next_state)
    agent.update_target_soft()
    state = next_state
    if step % 200 == 0:
        print(f"step {step}: critic {critic_loss:.4f}, actor {actor_loss:.4f}, reward {reward.mean():.3f}")
