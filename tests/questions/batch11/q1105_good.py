import torch
import torch.nn as nn
import torch.nn.functional as F


class ACTLikePolicy(nn.Module):
    def __init__(self, obs_dim=12, act_dim=3, chunk=4, hidden=64):
        super().__init__()
        self.chunk, self.act_dim = chunk, act_dim
        self.net = nn.Sequential(
            nn.Linear(obs_dim, hidden),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(hidden, chunk * act_dim),
        )

    def forward(self, obs):
        return self.net(obs).view(-1, self.chunk, self.act_dim)

    @torch.no_grad()
    def select_action(self, obs):
        return self(obs)[:, 0]


class PointEnv:
    def __init__(self, expert, obs_dim=12):
        self.expert, self.obs_dim = expert, obs_dim

    def rollout(self, policy, steps=20):
        obs = torch.randn(8, self.obs_dim)
        reward = 0.0
        for _ in range(steps):
            action = policy.select_action(obs)
            reward -= (action - self.expert(obs)[:, 0]).pow(2).mean().item()
            obs = 0.9 * obs + 0.1 * torch.randn_like(obs)
        return reward / steps


def eval_policy(env, policy, n_episodes=4):
    policy.eval()
    rewards = [env.rollout(policy) for _ in range(n_episodes)]
    policy.train()
    return {"avg_reward": sum(rewards) / n_episodes}


def make_expert(obs_dim=12, act_dim=3, chunk=4):
    w = torch.randn(obs_dim, chunk * act_dim) / obs_dim**0.5
    return lambda obs: torch.tanh(obs @ w).view(-1, chunk, act_dim)


def train(steps=400, eval_freq=100):
    torch.manual_seed(7)
    expert = make_expert()
    env = PointEnv(expert)
    policy = ACTLikePolicy()
    policy.train()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3, weight_decay=1e-4)
    data = torch.randn(512, 12)
    for step in range(1, steps + 1):
        obs = data[torch.randint(0, len(data), (32,))]
        loss = F.l1_loss(policy(obs), expert(obs))
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % eval_freq == 0:
            info = eval_policy(env, policy)
            print(f"step {step}: loss {loss.item():.4f}  reward {info['avg_reward']:.4f}")


train()
