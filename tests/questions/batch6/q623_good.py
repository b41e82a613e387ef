import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self, n_state=4, n_action=2, quantiles=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_state + n_action, 64), nn.ReLU(), nn.Linear(64, quantiles))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], -1))


class Actor(nn.Module):
    def __init__(self, n_state=4, n_action=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_state, 64), nn.ReLU(), nn.Linear(64, 2 * n_action))

    def forward(self, state):
        mean, log_std = self.net(state).chunk(2, -1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
        raw = normal.rsample()
        action = torch.tanh(raw)
        log_prob = (normal.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1, keepdim=True)
        return action, log_prob


class Learner:
    def __init__(self, alpha=0.05, gamma=0.9, tau=0.02):
        self.actor, self.qf, self.target_qf = Actor(), Critic(), Critic()
        self.target_qf.load_state_dict(self.qf.state_dict())
        self.alpha, self.gamma, self.tau = alpha, gamma, tau
        self.optimizers = {
            "qf": torch.optim.Adam(self.qf.parameters(), lr=1e-3),
            "policy": torch.optim.Adam(self.actor.parameters(), lr=1e-3),
        }

    def compute_losses(self, state, action, reward, next_state):
        with torch.no_grad():
            next_action, next_log_prob = self.actor(next_state)
            target = self.target_qf(next_state, next_action).mean(-1, keepdim=True)
            target = reward + self.gamma * (target - self.alpha * next_log_prob)
        q = self.qf(state, action)
        new_action, log_prob = self.actor(state)
        self.qf.requires_grad_(False)
        qf_curr = self.qf(state, new_action).mean(-1, keepdim=True)
        self.qf.requires_grad_(True)
        return {
            "qf": F.smooth_l1_loss(q, target.expand_as(q)),
            "policy": (self.alpha * log_prob - qf_curr).mean(),
        }

    def compute_gradients(self, losses):
        gradients = {}
        for name, optimizer in self.optimizers.items():
            optimizer.zero_grad()
            losses[name].backward(retain_graph=True)
            params = [p for group in optimizer.param_groups for p in group["params"]]
            gradients[name] = [p.grad for p in params]
        return gradients

    def apply_gradients(self, gradients):
        for name, optimizer in self.optimizers.items():
            params = [p for group in optimizer.param_groups for p in group["params"]]
            for p, grad in zip(params, gradients[name], strict=True):
                p.grad = grad
            optimizer.step()
        for target, online in zip(self.target_qf.parameters(), self.qf.parameters(), strict=True):
            target.data.lerp_(online.data, self.tau)


learner = Learner()
state = torch.randn(64, 4)
for step in range(1, 501):
    with torch.no_grad():
        action, _ = learner.actor(state)
    reward = 1 - (state[:, :2] - action).pow(2).sum(-1, keepdim=True)
    next_state = torch.randn(64, 4)
    losses = learner.compute_losses(state, action, reward, next_state)
    learner.apply_gradients(learner.compute_gradients(losses))
    if step % 100 == 0:
        q = learner.qf(state, action).mean().item()
        print(
            f"step {step}: reward {reward.mean():.3f}, critic loss {losses['qf'].item():.3f}, mean Q {q:.2f}"
        )
    state = next_state
