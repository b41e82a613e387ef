import copy
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)
rng = np.random.default_rng(0)

GAMMA, TAU, BATCH = 0.9, 0.02, 64
LENGTH = 40


class Greenhouse:
    def reset(self):
        self.temp = rng.uniform(5, 35)
        self.outside = rng.uniform(0, 15)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.array([self.temp, self.outside, 1000 + 5 * (self.temp - 20)], dtype=np.float32)

    def step(self, action):
        heat = (0.0, 1.5, 4.0)[action]
        self.temp += heat - 0.15 * (self.temp - self.outside) + rng.normal(0, 0.3)
        self.outside = float(np.clip(self.outside + rng.normal(0, 0.5), 0, 15))
        self.t += 1
        reward = max(-2.0, 1.0 - abs(self.temp - 22.0) / 4.0) - 0.05 * action
        return self.obs(), reward, self.t >= LENGTH


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.BatchNorm1d(3, momentum=0.05),
            nn.Linear(3, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 3),
        )

    def forward(self, x):
        return self.net(x)


def soft_update(net, target, tau):
    with torch.no_grad():
        for param, target_param in zip(net.parameters(), target.parameters()):
            target_param.copy_(tau * param + (1 - tau) * target_param)


qnet = QNet()
target = copy.deepcopy(qnet).eval()
optimizer = torch.optim.Adam(qnet.parameters(), lr=1e-3)
memory = []


def act(obs, eps):
    if random.random() < eps:
        return random.randrange(3)
    qnet.eval()
    with torch.no_grad():
        return int(qnet(torch.from_numpy(obs)[None]).argmax())


def learn():
    batch = random.sample(memory, BATCH)
    obs, action, reward, nxt = (torch.from_numpy(np.stack(c)) for c in zip(*batch))
    qnet.train()
    q = qnet(obs).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        y = reward + GAMMA * target(nxt).max(1).values
    loss = F.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    soft_update(qnet, target, TAU)
    return loss.item(), q.mean().item()


env = Greenhouse()
totals, losses, values = [], [], []
for episode in range(110):
    obs, done, total = env.reset(), False, 0.0
    eps = max(0.05, 1 - episode / 50)
    while not done:
        action = act(obs, eps)
        nxt, reward, done = env.step(action)
        memory.append((obs, np.int64(action), np.float32(reward), nxt))
        obs, total = nxt, total + reward
        if len(memory) > 300:
            loss, value = learn()
            losses.append(loss)
            values.append(value)
    totals.append(total)
    if (episode + 1) % 22 == 0:
        print(f"episode {episode + 1} return {np.mean(totals[-22:]):.2f} loss {losses[-1]:.3f} q {values[-1]:.2f}")

discounted = np.mean([m[2] for m in memory[-1000:]]) / (1 - GAMMA)
print(f"return {np.mean(totals[-20:]):.2f} mean q {np.mean(values[-400:]):.2f} reward/(1-gamma) {discounted:.2f}")
