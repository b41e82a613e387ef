import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(1)


class Policy(nn.Module):
    def __init__(self, dim_state, dim_action, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim_state, hidden), nn.Tanh(), nn.Linear(hidden, dim_action))

    def dist(self, states):
        return Categorical(logits=self.net(states))

    def get_log_prob(self, states, actions):
        return self.dist(states).log_prob(actions)


class Value(nn.Module):
    def __init__(self, dim_state, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim_state, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, states):
        return self.net(states)


class Grid:
    """16 agents on a line of 9 cells, the goal is drawn anew for each of them"""

    def __init__(self, n=16, size=9):
        self.n, self.size = n, size

    def reset(self):
        self.pos = torch.randint(0, self.size, (self.n,))
        self.goal = torch.randint(0, self.size, (self.n,))
        return self.obs()

    def obs(self):
        return torch.stack(
            [self.pos / self.size, self.goal / self.size, (self.goal - self.pos) / self.size], dim=1
        )

    def step(self, action):
        before = (self.goal - self.pos).abs()
        self.pos = (self.pos + action - 1).clamp(0, self.size - 1)
        after = (self.goal - self.pos).abs()
        return self.obs(), (before - after).float() + (after == 0).float()


def estimate_advantages(rewards, values, gamma=0.9, lam=0.95):
    T, n = rewards.shape
    advantages, last, nxt = torch.zeros(T, n), torch.zeros(n), torch.zeros(n)
    for t in reversed(range(T)):
        delta = rewards[t] + gamma * nxt - values[t]
        last = delta + gamma * lam * last
        advantages[t], nxt = last, values[t]
    returns = (advantages + values).reshape(-1, 1)
    advantages = advantages.reshape(-1, 1)
    return (advantages - advantages.mean()) / advantages.std(), returns


def ppo_step(states, actions, returns, advantages, old_log_probs, clip=0.2):
    for _ in range(5):
        value_loss = nn.functional.mse_loss(value(states), returns)
        opt_v.zero_grad()
        value_loss.backward()
        opt_v.step()
    for _ in range(4):
        ratio = torch.exp(policy.get_log_prob(states, actions) - old_log_probs)
        surr1 = ratio * advantages
        surr2 = torch.clamp(ratio, 1.0 - clip, 1.0 + clip) * advantages
        policy_surr = -torch.min(surr1, surr2).mean()
        opt_p.zero_grad()
        policy_surr.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 40)
        opt_p.step()


env, policy, value = Grid(), Policy(3, 3), Value(3)
opt_p = torch.optim.Adam(policy.parameters(), lr=3e-3)
opt_v = torch.optim.Adam(value.parameters(), lr=3e-3)
for it in range(60):
    obs, S, A, R, L = env.reset(), [], [], [], []
    with torch.no_grad():
        for t in range(12):
            d = policy.dist(obs)
            a = d.sample()
            nxt, r = env.step(a)
            S.append(obs), A.append(a), R.append(r), L.append(d.log_prob(a))
            obs = nxt
        rewards = torch.stack(R)
        values = value(torch.stack(S)).squeeze(-1)
        advantages, returns = estimate_advantages(rewards, values)
    ppo_step(torch.cat(S), torch.cat(A), returns, advantages, torch.cat(L))
    if it % 10 == 9:
        print(f"Iter {it + 1}, average episode reward: {rewards.sum(0).mean():.3f}")
