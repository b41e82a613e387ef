import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)
GAMMA, TAU, DIM = 0.9, 0.01, 2


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, DIM))

    def forward(self, s):
        return 2.0 * torch.tanh(self.net(s))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=1))


def env_step(s, a):
    nxt = (s + a + 0.05 * torch.randn_like(s)).clamp(-3, 3)
    reward = -(nxt ** 2).sum(1, keepdim=True)
    return nxt, reward


class ReplayBuffer:
    def __init__(self, size):
        self.s, self.a = torch.zeros(size, DIM), torch.zeros(size, DIM)
        self.r, self.s2 = torch.zeros(size, 1), torch.zeros(size, DIM)
        self.pos, self.full, self.size = 0, 0, size

    def add(self, s, a, r, s2):
        idx = (self.pos + torch.arange(len(s))) % self.size
        self.s[idx], self.a[idx], self.r[idx], self.s2[idx] = s, a, r, s2
        self.pos = (self.pos + len(s)) % self.size
        self.full = min(self.full + len(s), self.size)

    def sample(self, n):
        i = torch.randint(0, self.full, (n,))
        return self.s[i], self.a[i], self.r[i], self.s2[i]


actor, critic = Actor(), Critic()
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=2e-3)
buffer = ReplayBuffer(20000)

obs = torch.rand(16, DIM) * 4 - 2
for step in range(2500):
    with torch.no_grad():
        act = (actor(obs) + 0.6 * torch.randn(16, DIM)).clamp(-2, 2)
    nxt, rew = env_step(obs, act)
    buffer.add(obs, act, rew, nxt)
    reset = torch.rand(16, 1) < 0.3
    obs = torch.where(reset, torch.rand(16, DIM) * 4 - 2, nxt)

    state, action, reward, state_2 = buffer.sample(128)
    with torch.no_grad():
        target_action = actor_target(state_2)
        target_q = reward + GAMMA * critic_target(state_2, target_action)
    critic_loss = F.mse_loss(critic(state, action), target_q)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -critic(state, actor(state)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    with torch.no_grad():
        for net, tgt in ((actor, actor_target), (critic, critic_target)):
            for p, pt in zip(net.parameters(), tgt.parameters()):
                pt.lerp_(p, TAU)
    if step % 500 == 0:
        print(f"step {step} critic loss {critic_loss.item():.3f} actor loss {actor_loss.item():.3f}")

with torch.no_grad():
    s = torch.rand(512, DIM) * 4 - 2
    guess = critic(s, actor(s)).mean().item()
    total, discount = torch.zeros(512, 1), 1.0
    for _ in range(40):
        s, r = env_step(s, actor(s))
        total += discount * r
        discount *= GAMMA
print(f"discounted return {total.mean().item():.3f}, predicted by the critic {guess:.3f}")
