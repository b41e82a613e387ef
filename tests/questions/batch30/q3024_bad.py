import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
torch.set_num_threads(1)

use_popart = False
use_valuenorm = True
gamma, gae_lambda = 0.95, 0.5
n_threads, episode_length, n_states = 16, 10, 5


class ValueNorm:
    def __init__(self, beta=0.9):
        self.beta = beta
        self.mean, self.mean_sq, self.debias = torch.zeros(()), torch.zeros(()), torch.zeros(())

    def stats(self):
        mean = self.mean / self.debias.clamp(min=1e-5)
        var = (self.mean_sq / self.debias.clamp(min=1e-5) - mean ** 2).clamp(min=1e-2)
        return mean, var

    def update(self, x):
        self.mean = self.beta * self.mean + (1 - self.beta) * x.mean()
        self.mean_sq = self.beta * self.mean_sq + (1 - self.beta) * (x ** 2).mean()
        self.debias = self.beta * self.debias + (1 - self.beta)

    def normalize(self, x):
        mean, var = self.stats()
        return (x - mean) / var.sqrt()

    def denormalize(self, x):
        mean, var = self.stats()
        return x * var.sqrt() + mean


class Rooms:
    """Each room pays its own base; the right door pays a little more."""

    def __init__(self):
        self.base = torch.tensor([0.0, 10.0, 25.0, 50.0, 100.0])
        self.right = torch.tensor([0, 1, 2, 0, 1])

    def reset(self):
        self.room = torch.randint(n_states, (n_threads,))
        return nn.functional.one_hot(self.room, n_states).float()

    def step(self, action):
        good = (action == self.right[self.room]).float()
        reward = self.base[self.room] + 5.0 * good
        self.room = torch.randint(n_states, (n_threads,))
        return nn.functional.one_hot(self.room, n_states).float(), reward, good


actor = nn.Sequential(nn.Linear(n_states, 32), nn.Tanh(), nn.Linear(32, 3))
critic = nn.Sequential(nn.Linear(n_states, 32), nn.Tanh(), nn.Linear(32, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
value_normalizer = ValueNorm()
envs = Rooms()


def compute_returns(rewards, value_preds, next_value):
    values = value_normalizer.denormalize(torch.cat([value_preds, next_value[None]]))
    returns = torch.zeros_like(rewards)
    gae = torch.zeros(n_threads)
    for step in reversed(range(len(rewards))):
        delta = rewards[step] + gamma * values[step + 1] - values[step]
        gae = delta + gamma * gae_lambda * gae
        returns[step] = gae + values[step]
    return returns


for episode in range(160):
    obs, buf = envs.reset(), []
    hits = 0.0
    for _ in range(episode_length):
        with torch.no_grad():
            dist = Categorical(logits=actor(obs))
            action = dist.sample()
            value = critic(obs).squeeze(-1)
        next_obs, reward, good = envs.step(action)
        buf.append((obs, action, dist.log_prob(action), value, reward))
        obs = next_obs
        hits += good.mean().item() / episode_length
    with torch.no_grad():
        next_value = critic(obs).squeeze(-1)

    obs_b, act_b, logp_b, value_preds, rewards = (torch.stack(x) for x in zip(*buf))
    returns = compute_returns(rewards, value_preds, next_value)
    if use_popart:
        advantages = returns - value_normalizer.denormalize(value_preds)
    else:
        advantages = returns - value_preds
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-5)

    value_normalizer.update(returns)
    for _ in range(5):
        dist = Categorical(logits=actor(obs_b))
        ratio = torch.exp(dist.log_prob(act_b) - logp_b)
        surr = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
        policy_loss = -surr.mean() - 0.01 * dist.entropy().mean()
        actor_optimizer.zero_grad()
        policy_loss.backward()
        actor_optimizer.step()

        value_loss = (critic(obs_b).squeeze(-1) - value_normalizer.normalize(returns)).pow(2).mean()
        critic_optimizer.zero_grad()
        value_loss.backward()
        critic_optimizer.step()

    if episode % 40 == 39:
        print(f"episode {episode + 1}: right doors {hits:.3f} value loss {value_loss.item():.4f} "
              f"policy loss {policy_loss.item():.4f}")
