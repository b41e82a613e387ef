import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(3)
torch.set_num_threads(1)

NUM_ENVS = 8
NUM_STEPS = 64
GAMMA = 0.97
TAU = 1.0
BETA = 0.01
EPSILON = 0.2


class Balance:
    """Keep a drifting point between -1 and 1; every step pays 1."""

    def __init__(self, n):
        self.pos = torch.zeros(n)
        self.vel = torch.zeros(n)
        self.age = torch.zeros(n)

    def obs(self):
        return torch.stack([self.pos, self.vel * 5, self.age * 0 + 1], dim=1)

    def step(self, action):
        push = (action.float() * 2 - 1) * 0.05
        self.vel = self.vel + push + 0.06 * self.pos + 0.02 * torch.randn_like(self.vel)
        self.pos = self.pos + self.vel
        self.age = self.age + 1
        done = (self.pos.abs() > 1) | (self.age >= 100)
        length = self.age[done].tolist()
        reward = torch.ones_like(self.pos)
        keep = (~done).float()
        self.pos, self.vel, self.age = self.pos * keep, self.vel * keep, self.age * keep
        return self.obs(), reward, done.float(), length


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor = nn.Linear(64, 2)
        self.critic = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.actor(h), self.critic(h).squeeze(-1)


model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
env = Balance(NUM_ENVS)
state = env.obs()

for update in range(60):
    states, actions, log_probs, rewards, dones, values, lengths = [], [], [], [], [], [], []
    for _ in range(NUM_STEPS):
        with torch.no_grad():
            logits, value = model(state)
        dist = Categorical(logits=logits)
        action = dist.sample()
        states.append(state)
        actions.append(action)
        log_probs.append(dist.log_prob(action))
        values.append(value)
        state, reward, done, finished = env.step(action)
        rewards.append(reward)
        dones.append(done)
        lengths += finished

    with torch.no_grad():
        _, next_value = model(state)
    gae = torch.zeros(NUM_ENVS)
    R = []
    for value, reward, done in list(zip(values, rewards, dones))[::-1]:
        gae = gae * GAMMA * TAU
        gae = gae + reward + GAMMA * next_value * (1 - done) - value
        next_value = value
        R.append(gae + value)
    R = torch.cat(R[::-1])

    states = torch.cat(states)
    actions = torch.cat(actions)
    old_log_probs = torch.cat(log_probs)
    advantages = R - torch.cat(values)
    norm_adv = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    for _ in range(4):
        order = torch.randperm(len(states))
        for idx in order.chunk(4):
            logits, value = model(states[idx])
            dist = Categorical(logits=logits)
            ratio = torch.exp(dist.log_prob(actions[idx]) - old_log_probs[idx])
            clipped = torch.clamp(ratio, 1 - EPSILON, 1 + EPSILON)
            actor_loss = -torch.min(ratio * norm_adv[idx], clipped * norm_adv[idx]).mean()
            critic_loss = F.smooth_l1_loss(value, R[idx])
            total_loss = actor_loss + critic_loss - BETA * dist.entropy().mean()
            optimizer.zero_grad()
            total_loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()

    if update % 10 == 9:
        mean_len = sum(lengths) / max(len(lengths), 1)
        print(f"update {update + 1}: critic loss {critic_loss.item():.3f} "
              f"return target {R.mean().item():.2f} mean episode length {mean_len:.1f}")
