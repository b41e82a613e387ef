import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_out))


class DDPG:
    def __init__(self, n_state=3, n_action=1, gamma=0.9, tau=0.005):
        self.gamma, self.tau = gamma, tau
        self.online_value_model = mlp(n_state + n_action, 1)
        self.target_value_model = mlp(n_state + n_action, 1)
        self.online_policy_model = nn.Sequential(mlp(n_state, n_action), nn.Tanh())
        self.target_policy_model = nn.Sequential(mlp(n_state, n_action), nn.Tanh())
        self.value_optimizer = torch.optim.Adam(self.online_value_model.parameters(), lr=1e-3)
        self.policy_optimizer = torch.optim.Adam(self.online_policy_model.parameters(), lr=5e-4)

    def update_networks(self, tau=None):
        tau = self.tau if tau is None else tau
        for target, online in zip(
            self.target_value_model.parameters(), self.online_value_model.parameters(), strict=True
        ):
            target_ratio = (1.0 - tau) * target.data
            online_ratio = tau * online.data
            target.data.copy_(target_ratio + online_ratio)
        for target, online in zip(
            self.target_policy_model.parameters(), self.online_policy_model.parameters(), strict=True
        ):
            target_ratio = (1.0 - tau) * target.data
            online_ratio = tau * online.data
            target.data.copy_(target_ratio + online_ratio)

    def optimize_model(self, states, actions, rewards, next_states):
        with torch.no_grad():
            next_actions = self.target_policy_model(next_states)
            max_q = self.target_value_model(torch.cat([next_states, next_actions], 1))
            target_q = rewards + self.gamma * max_q
        q = self.online_value_model(torch.cat([states, actions], 1))
        value_loss = F.mse_loss(q, target_q)
        self.value_optimizer.zero_grad()
        value_loss.backward()
        self.value_optimizer.step()

        chosen = self.online_policy_model(states)
        policy_loss = -self.online_value_model(torch.cat([states, chosen], 1)).mean()
        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()
        return value_loss.item()

    def gap(self):
        states = torch.randn(256, 4)
        with torch.no_grad():
            return (self.target_value_model(states) - self.online_value_model(states)).abs().mean().item()

    def train(self, steps=500):
        self.update_networks(tau=1.0)
        print(f"target against online after the copy: {self.gap():.4f}")
        for step in range(1, steps + 1):
            states = torch.randn(64, 3)
            actions = (self.online_policy_model(states) + 0.3 * torch.randn(64, 1)).detach().clamp(-1, 1)
            rewards = -(states[:, :1] + actions).pow(2)
            next_states = 0.9 * states + 0.1 * actions
            value_loss = self.optimize_model(states, actions, rewards, next_states)
            self.update_networks()
            if step % 100 == 0:
                print(f"step {step}: value loss {value_loss:.4f}")


agent = DDPG()
agent.train()
