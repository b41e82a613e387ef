import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
AGENTS, OBS, ACT, GAMMA, TAU = 2, 4, 2, 0.9, 0.02


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS, 48)
        self.fc2 = nn.Linear(48, ACT)

    def forward(self, obs):
        return torch.tanh(self.fc2(F.relu(self.fc1(obs))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(AGENTS * (OBS + ACT), 96)
        self.fc2 = nn.Linear(96, 96)
        self.q = nn.Linear(96, 1)

    def forward(self, obs, act):
        x = torch.cat([torch.cat(obs, 1), torch.cat(act, 1)], 1)
        return self.q(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Agent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.actor_target = copy.deepcopy(self.actor)
        self.critic_target = copy.deepcopy(self.critic)
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=2e-3)

    def soft_update(self):
        for net, target in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
            for p, q in zip(net.parameters(), target.parameters()):
                q.data.mul_(1 - TAU).add_(TAU * p.data)


def move(obs, act):
    nxt = [torch.cat([o[:, :2] + 0.3 * a, o[:, 2:]], 1) for o, a in zip(obs, act)]
    reward = -sum(((o[:, :2] - o[:, 2:]) ** 2).sum(1, keepdim=True) for o in nxt)
    return nxt, reward


def train(agents, i, obs, act, reward, nxt):
    me = agents[i]
    with torch.no_grad():
        next_act = [a.actor_target(o) for a, o in zip(agents, nxt)]
        target_q = reward + GAMMA * me.critic_target(nxt, next_act)
    q = me.critic(obs, act)
    critic_loss = F.mse_loss(q, target_q)

    joint = list(act)
    joint[i] = me.actor(obs[i])
    actor_loss = -me.critic(obs, joint).mean()

    me.critic_optim.zero_grad()
    critic_loss.backward()
    me.critic_optim.step()
    me.actor_optim.zero_grad()
    actor_loss.backward()
    me.actor_optim.step()
    me.soft_update()
    return critic_loss.item(), actor_loss.item()


def play(agents):
    gen = torch.Generator().manual_seed(9)
    obs = [torch.rand(200, OBS, generator=gen) * 2 - 1 for _ in range(AGENTS)]
    total = 0.0
    with torch.no_grad():
        for _ in range(10):
            obs, r = move(obs, [a.actor(o) for a, o in zip(agents, obs)])
            total += r.mean().item()
    return total


agents = [Agent() for _ in range(AGENTS)]
print(f"return before {play(agents):.2f}")
for it in range(800):
    obs = [torch.rand(128, OBS) * 2 - 1 for _ in range(AGENTS)]
    act = [torch.rand(128, ACT) * 2 - 1 for _ in range(AGENTS)]
    nxt, reward = move(obs, act)
    for i in range(AGENTS):
        c, a = train(agents, i, obs, act, reward, nxt)
    if it % 200 == 199:
        print(f"update {it + 1}  critic {c:.4f}  actor {a:.4f}")
print(f"return after {play(agents):.2f}")
