import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_PROMPTS, N_TOKENS, GROUP = 8, 10, 6


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(N_PROMPTS, 16)
        self.head = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, N_TOKENS))

    def forward(self, prompts):
        return F.log_softmax(self.head(self.emb(prompts)), dim=-1)


def reward_fn(prompts, tokens):
    """The token that fits the prompt pays 1, its neighbours a part of it."""
    want = (3 * prompts + 1) % N_TOKENS
    return torch.exp(-(tokens - want).abs().float())


def populate_rl_data(rollouts):
    groups = {}
    for r in rollouts:
        groups.setdefault(r["group_id"], []).append(r)
    for group in groups.values():
        rewards = torch.stack([r["reward"] for r in group])
        mean = rewards.mean()
        std = rewards.std(unbiased=False)
        for r in group:
            r["advantage"] = (r["reward"] - mean) / (std + 1e-4)
    return rollouts


def collect(policy):
    rollouts = []
    with torch.no_grad():
        for p in range(N_PROMPTS):
            prompts = torch.full((GROUP,), p)
            tokens = torch.distributions.Categorical(logits=policy(prompts)).sample()
            for t, rew in zip(tokens, reward_fn(prompts, tokens)):
                rollouts.append({"group_id": p, "prompt": p, "token": int(t), "reward": rew})
    return populate_rl_data(rollouts)


def rl_step(policy, optimizer, rollouts):
    prompts = torch.tensor([r["prompt"] for r in rollouts])
    tokens = torch.tensor([r["token"] for r in rollouts])
    advantages = torch.stack([r["advantage"] for r in rollouts])
    logp = policy(prompts).gather(1, tokens.unsqueeze(1)).squeeze(1)
    loss = -(advantages * logp).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    return loss.item(), advantages


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for step in range(1, 151):
    rollouts = collect(policy)
    loss, adv = rl_step(policy, optimizer, rollouts)
    if step % 25 == 0:
        rew = sum(r["reward"].item() for r in rollouts) / len(rollouts)
        print(f"step {step}: reward {rew:.3f}  loss {loss:.3f}  adv {adv.mean():.3f} +- {adv.std():.3f}")
