import copy

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


class PointEnv:
    def reset(self):
        self.pos, self.vel, self.t = torch.rand(1).item() * 2 - 1, 0.0, 0
        return torch.tensor([self.pos, self.vel])

    def step(self, a):
        self.vel = 0.9 * self.vel + 0.1 * a
        self.pos += self.vel
        self.t += 1
        return torch.tensor([self.pos, self.vel]), -abs(self.pos) - 0.05 * a * a, self.t >= 30


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o))


class CriticTwin(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(3, 1), mlp(3, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], 1)
        return self.q1(x), self.q2(x)


class PrioritizedBuffer:
    def __init__(self, size):
        self.data, self.prio, self.size = [], [], size

    def add(self, item):
        if len(self.data) == self.size:
            self.data.pop(0)
            self.prio.pop(0)
        self.data.append(item)
        self.prio.append(max(self.prio, default=1.0))

    def sample(self, n):
        p = torch.tensor(self.prio) ** 0.6
        p = p / p.sum()
        idx = torch.multinomial(p, n, replacement=True)
        w = (len(self.data) * p[idx]) ** -0.4
        s, a, r, s2, m = [torch.stack([self.data[i][k] for i in idx.tolist()]) for k in range(5)]
        return idx, (w / w.max())[:, None], s, a, r, s2, m

    def update(self, idx, td):
        for i, v in zip(idx.tolist(), td.flatten().tolist()):
            self.prio[i] = v + 1e-3


actor = nn.Sequential(mlp(2, 1), nn.Tanh())
critic = CriticTwin()
actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
criterion = nn.SmoothL1Loss(reduction="none")
buffer, env, gamma = PrioritizedBuffer(3000), PointEnv(), 0.95


def get_obj_critic_per(batch_size):
    idx, weight, s, a, r, s2, mask = buffer.sample(batch_size)
    with torch.no_grad():
        a2 = (actor_t(s2) + 0.1 * torch.randn(batch_size, 1).clamp(-0.3, 0.3)).clamp(-1, 1)
        q_label = r + mask * torch.min(*critic_t(s2, a2))
    q1, q2 = critic(s, a)
    obj_critic = ((criterion(q1, q_label) + criterion(q2, q_label)) * weight).mean()
    td_error = (q_label - torch.min(q1, q1).detach()).abs()
    buffer.update(idx, td_error)
    return obj_critic, s, td_error


def soft_update(target, net, tau=0.01):
    with torch.no_grad():
        for p_t, p in zip(target.parameters(), net.parameters()):
            p_t.mul_(1 - tau).add_(tau * p)


for episode in range(40):
    s, done, ret = env.reset(), False, 0.0
    while not done:
        with torch.no_grad():
            a = (actor(s) + 0.2 * torch.randn(1)).clamp(-1, 1)
        s2, r, done = env.step(a.item())
        buffer.add((s, a, torch.tensor([r]), s2, torch.tensor([gamma])))
        s, ret = s2, ret + r
        if len(buffer.data) > 128:
            obj_critic, batch_s, td = get_obj_critic_per(64)
            opt_c.zero_grad()
            obj_critic.backward()
            opt_c.step()
            obj_actor = -critic.q1(torch.cat([batch_s, actor(batch_s)], 1)).mean()
            opt_a.zero_grad()
            obj_actor.backward()
            opt_a.step()
            soft_update(critic_t, critic)
            soft_update(actor_t, actor)
    if episode % 8 == 7:
        print(f"episode {episode + 1} return {ret:.2f} obj_critic {obj_critic.item():.4f} "
              f"mean priority {sum(buffer.prio) / len(buffer.prio):.4f}")
