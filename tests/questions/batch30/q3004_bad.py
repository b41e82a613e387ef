import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(0)

WORKERS, STEPS, SIZE = 8, 64, 10
GAMMA, TAU, CLIP, BETA = 0.95, 1.0, 0.2, 0.01


class Levels:
    """Walk right; a pit at cell 5 has to be jumped (action 1)."""

    def __init__(self, n):
        self.pos = torch.zeros(n, dtype=torch.long)

    def obs(self):
        return F.one_hot(self.pos, SIZE).float()

    def step(self, action):
        jump = action == 1
        self.pos = self.pos + torch.where(jump, 2, 1)
        dead = self.pos == 5
        goal = self.pos >= SIZE - 1
        reward = torch.where(dead, -2.0, torch.where(goal, 3.0, 0.1))
        reward = reward - 0.2 * jump.float()
        done = (dead | goal).float()
        self.pos = torch.where(done > 0, torch.zeros_like(self.pos), self.pos)
        return self.obs(), reward, done


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SIZE, 64), nn.Tanh())
        self.actor = nn.Linear(64, 2)
        self.critic = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.actor(h), self.critic(h)


model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
env = Levels(WORKERS)
state = env.obs()

for episode in range(31):
    old_log_policies, actions, values, states, rewards, dones = [], [], [], [], [], []
    for _ in range(STEPS):
        states.append(state)
        with torch.no_grad():
            logits, value = model(state)
        dist = Categorical(logits=logits)
        action = dist.sample()
        values.append(value.squeeze(1))
        actions.append(action)
        old_log_policies.append(dist.log_prob(action))
        state, reward, done = env.step(action)
        rewards.append(reward)
        dones.append(done)
    with torch.no_grad():
        _, next_value = model(state)
    next_value = next_value.squeeze(1)

    gae = 0
    R = []
    for value, reward, done in list(zip(values, rewards, dones))[::-1]:
        gae = gae * GAMMA * TAU
        gae = gae + reward + GAMMA * next_value.detach() * (1 - done) - value.detach()
        next_value = value
        R.append(gae + value)
    R = torch.cat(R[::-1]).detach()
    old_log_policies = torch.cat(old_log_policies)
    actions, states, values = torch.cat(actions), torch.cat(states), torch.cat(values)
    advantages = R - values

    for _ in range(4):
        perm = torch.randperm(WORKERS * STEPS)
        for idx in perm.chunk(4):
            logits, value = model(states[idx])
            dist = Categorical(logits=logits)
            ratio = torch.exp(dist.log_prob(actions[idx]) - old_log_policies[idx])
            adv = advantages[idx]
            actor_loss = -torch.min(ratio * adv, ratio.clamp(1 - CLIP, 1 + CLIP) * adv).mean()
            critic_loss = F.smooth_l1_loss(value.squeeze(1), R[idx])
            entropy = dist.entropy().mean()
            loss = actor_loss + critic_loss - BETA * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    if episode % 10 == 0:
        d, rw = torch.cat(dones), torch.cat(rewards)
        print(f"episode {episode}: critic loss {critic_loss.item():.3f}  "
              f"target minus reward at the ends {(R - rw)[d > 0].mean().item():.2f}  "
              f"goals reached {(rw > 2).sum().item()} of {int(d.sum())}  value {values.mean().item():.2f}")
