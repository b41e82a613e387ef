import math
import random

import torch
import torch.nn as nn
from torch.distributions import Categorical

random.seed(1)
torch.manual_seed(1)
torch.set_num_threads(1)


class CartPole:
    def reset(self):
        self.s = [random.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return list(self.s)

    def step(self, action):
        x, v, th, w = self.s
        force = 10.0 if action == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        temp = (force + 0.05 * w * w * s) / 1.1
        tha = (9.8 * s - c * temp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
        xa = temp - 0.05 * tha * c / 1.1
        self.s = [x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * tha]
        self.t += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095 or self.t >= 500
        return list(self.s), 1.0, done


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor = nn.Linear(64, 2)
        self.critic = nn.Linear(64, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.actor(h), self.critic(h).squeeze(-1)


def compute_gae(rewards, values, gamma=0.99, lam=0.95):
    advantages = []
    gae, next_value = 0.0, 0.0
    for r, v in zip(reversed(rewards), reversed(values)):
        delta = r + gamma * next_value - v
        gae = delta + gamma * lam * gae
        advantages.insert(0, gae)
        next_value = v
    return advantages


env, policy = CartPole(), ActorCritic()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
obs, length, finished = env.reset(), 0, []

for it in range(30):
    states, actions, logps, rewards, values, dones, lengths = [], [], [], [], [], [], []
    for _ in range(1024):
        with torch.no_grad():
            logits, value = policy(torch.tensor(obs))
            p1 = torch.softmax(logits, -1)[1].item()
        action = 1 if random.random() < p1 else 0
        next_obs, reward, done = env.step(action)
        states.append(obs)
        actions.append(action)
        logps.append(math.log(max(p1 if action else 1 - p1, 1e-8)))
        rewards.append(reward)
        values.append(value.item())
        dones.append(done)
        length += 1
        obs = next_obs
        if done:
            lengths.append(length)
            obs, length = env.reset(), 0
    finished = lengths or [500]
    adv = torch.tensor(compute_gae(rewards, values))
    returns = adv + torch.tensor(values)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    S, A, L = torch.tensor(states), torch.tensor(actions), torch.tensor(logps)
    for _ in range(6):
        for idx in torch.randperm(1024).split(128):
            logits, value = policy(S[idx])
            dist = Categorical(logits=logits)
            ratio = (dist.log_prob(A[idx]) - L[idx]).exp()
            clipped = ratio.clamp(0.8, 1.2) * adv[idx]
            policy_loss = -torch.min(ratio * adv[idx], clipped).mean()
            value_loss = (value - returns[idx]).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
    if it % 5 == 4:
        print(f"iter {it + 1:2d}  mean episode length {sum(finished) / len(finished):.1f}  value loss {value_loss.item():.2f}")

print(f"final mean episode length {sum(finished) / len(finished):.1f} / 500")
