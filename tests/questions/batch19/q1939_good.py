import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)
N, GAMMA = 7, 0.95


class Corridor:
    """Seven cells, start in the middle. Left end pays 0.3, right end pays 1.0, every step costs 0.01."""

    def reset(self):
        self.pos, self.steps = N // 2, 0
        return self.obs()

    def obs(self):
        o = np.zeros(N, dtype=np.float32)
        o[self.pos] = 1.0
        return o

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.steps += 1
        if self.pos <= 0:
            return self.obs(), 0.3, True
        if self.pos >= N - 1:
            return self.obs(), 1.0, True
        return self.obs(), -0.01, False


class ActorCritic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)

    def forward(self, s):
        h = self.body(s)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def collect(env, net, n_episodes):
    states, actions, rewards, dones = [], [], [], []
    totals = []
    for _ in range(n_episodes):
        s, done, total = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                dist, _ = net(torch.from_numpy(s))
            a = dist.sample().item()
            s2, r, done = env.step(a)
            states.append(s)
            actions.append(a)
            rewards.append(r)
            dones.append(done)
            total += r
            s = s2
        totals.append(total)
    return (torch.from_numpy(np.stack(states)), torch.tensor(actions),
            torch.tensor(rewards, dtype=torch.float32), torch.tensor(dones), float(np.mean(totals)))


env, net = Corridor(), ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
history = []
for it in range(250):
    states, actions, rewards, dones, avg = collect(env, net, 10)
    history.append(avg)
    dist, values = net(states)
    next_values = torch.cat([values[1:], torch.zeros(1)]).detach()
    targets = rewards + GAMMA * next_values * (~dones).float()
    advantages = (targets - values).detach()
    policy_loss = -(dist.log_prob(actions) * advantages).mean()
    value_loss = F.mse_loss(values, targets)
    loss = policy_loss + 0.5 * value_loss - 0.005 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(f"iteration {it} return {avg:.3f} value loss {value_loss.item():.4f}")

with torch.no_grad():
    dist, v = net(torch.eye(N))
print("values", [round(x, 2) for x in v[1:-1].tolist()], "p(right)", [round(x, 2) for x in dist.probs[1:-1, 1].tolist()])
print(f"mean return of the last 50 iterations {np.mean(history[-50:]):.3f}")
