import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)
torch.manual_seed(0)

STATE, ACTION = 3, 2
ALPHA, SCALE = 0.05, 2.0


class SoftDeterministicPolicy(nn.Module):
    def __init__(self, tanh_scale):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(STATE, 64), nn.ReLU(), nn.Linear(64, 2 * ACTION))
        self.tanh_scale = tanh_scale

    def forward(self, state):
        mean, log_std = self.body(state).chunk(2, dim=-1)
        normal = Normal(mean, log_std.clamp(-5, 2).exp())
        return self._sample(normal)

    def _sample(self, normal):
        raw = normal.rsample()
        action = self._squash(raw)
        log_prob = normal.log_prob(raw)
        log_prob = log_prob - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(-1)

    def _squash(self, x):
        return torch.tanh(x) * self.tanh_scale


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(STATE + ACTION, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1)).squeeze(-1)


def reward_fn(s, a):
    goal = 1.5 * torch.tanh(s[:, :ACTION])
    return -((a - goal) ** 2).sum(-1)


policy, q1, q2 = SoftDeterministicPolicy(SCALE), Critic(), Critic()
policy_opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
q_opt = torch.optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=3e-3)

for step in range(301):
    s = torch.randn(128, STATE)
    with torch.no_grad():
        a, _ = policy(s)
        r = reward_fn(s, a)
    q_loss = F.mse_loss(q1(s, a), r) + F.mse_loss(q2(s, a), r)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()

    new_a, logp = policy(s)
    q = torch.min(q1(s, new_a), q2(s, new_a))
    policy_loss = (ALPHA * logp - q).mean()
    policy_opt.zero_grad()
    policy_loss.backward()
    policy_opt.step()
    if step % 50 == 0:
        print(f"step {step}: q loss {q_loss.item():.3f}  policy loss {policy_loss.item():.3f}  "
              f"entropy {-logp.mean().item():.3f}  reward {r.mean().item():.3f}")
