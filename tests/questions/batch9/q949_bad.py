import copy

import torch
import torch.nn as nn

torch.manual_seed(0)
N_QUANT = 16


class QRNet(nn.Module):
    def __init__(self, state_size, action_size, hidden=64):
        super().__init__()
        self.action_size = action_size
        self.net = nn.Sequential(
            nn.Linear(state_size, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, action_size * N_QUANT),
        )

    def forward(self, state):
        return self.net(state).view(len(state), N_QUANT, self.action_size)

    def get_qvals(self, state):
        return self(state).mean(dim=1)


def huber(x, k=1.0):
    return torch.where(x.abs() <= k, 0.5 * x.pow(2), k * (x.abs() - 0.5 * k))


class Agent:
    def __init__(self, state_size=2, action_size=2, gamma=0.5):
        self.local = QRNet(state_size, action_size)
        self.target = copy.deepcopy(self.local)
        self.optimizer = torch.optim.Adam(self.local.parameters(), lr=1e-3)
        self.quantile_tau = torch.tensor([(2 * i + 1) / (2.0 * N_QUANT) for i in range(N_QUANT)])
        self.gamma = gamma

    def learn(self, states, actions, rewards, next_states, dones):
        batch = len(states)
        with torch.no_grad():
            next_q = self.target(next_states)
            best = next_q.mean(dim=1).argmax(dim=1).view(batch, 1, 1).expand(batch, N_QUANT, 1)
            q_next = next_q.gather(2, best).transpose(1, 2)
            q_targets = rewards.unsqueeze(-1) + self.gamma * q_next * (1 - dones.unsqueeze(-1))
        index = actions.unsqueeze(-1).expand(batch, N_QUANT, 1)
        q_expected = self.local(states).gather(2, index)
        td_error = q_targets - q_expected
        weight = torch.abs(self.quantile_tau - (td_error.detach() < 0).float())
        loss = (weight * huber(td_error)).sum(dim=1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for p, tp in zip(self.local.parameters(), self.target.parameters()):
            tp.data.lerp_(p.data, 0.02)
        return loss.item()


def transitions(n):
    states = torch.rand(n, 2)
    actions = torch.randint(0, 2, (n, 1))
    spread = torch.where(actions == 1, 3.0, 1.0)
    rewards = states.sum(1, keepdim=True) + spread * torch.randn(n, 1)
    return states, actions, rewards, torch.rand(n, 2), (torch.rand(n, 1) < 0.3).float()


agent = Agent()
memory = transitions(4000)
probe = torch.full((1, 2), 0.5)
for step in range(1, 1501):
    idx = torch.randint(0, 4000, (64,))
    loss = agent.learn(*(m[idx] for m in memory))
    if step % 300 == 0:
        with torch.no_grad():
            quants = agent.local(probe)[0, :, 1]
        rising = (quants.diff() > 0).float().mean()
        print(
            f"step {step}  loss {loss:.3f}  quantiles of action 1: lowest {quants[0]:.2f} middle {quants[8]:.2f} "
            f"highest {quants[-1]:.2f}, rising {rising:.2f}"
        )
