import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class NafPolicy(nn.Module):
    def __init__(self, n_state=3, n_action=1, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_state, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.value = nn.Linear(hidden, 1)
        self.mu = nn.Linear(hidden, n_action)
        self.scale = nn.Linear(hidden, n_action)

    def forward(self, state, action=None):
        h = self.body(state)
        v = self.value(h)
        mu = torch.tanh(self.mu(h))
        if action is None:
            return mu, None, v
        precision = self.scale(h).exp().pow(2)
        advantage = -0.5 * ((action - mu).pow(2) * precision).sum(1, keepdim=True)
        return mu, v + advantage, v


class NAF:
    def __init__(self, gamma=0.9, tau=0.05):
        self.model, self.target_model = NafPolicy(), NafPolicy()
        self.target_model.load_state_dict(self.model.state_dict())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.gamma, self.tau = gamma, tau

    def update_parameters(self, state, action, reward, mask, next_state):
        with torch.no_grad():
            _, _, next_state_values = self.target_model(next_state)
        expected_state_action_values = reward + self.gamma * mask + next_state_values
        _, state_action_values, _ = self.model(state, action)
        loss = F.mse_loss(state_action_values, expected_state_action_values)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1)
        self.optimizer.step()
        for target, param in zip(self.target_model.parameters(), self.model.parameters(), strict=True):
            target.data.copy_(target.data * (1 - self.tau) + param.data * self.tau)
        return loss.item(), state_action_values.mean().item()


agent = NAF()
for step in range(1, 801):
    state = torch.randn(64, 3)
    with torch.no_grad():
        action = (agent.model(state)[0] + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
    reward = 1 - (state[:, :1] - action).pow(2)
    mask = (torch.rand(64, 1) > 0.1).float()
    next_state = 0.8 * state + 0.2 * torch.randn(64, 3)
    loss, value = agent.update_parameters(state, action, reward, mask, next_state)
    if step % 160 == 0:
        print(f"step {step}: loss {loss:.4f}, mean Q {value:.2f}")
