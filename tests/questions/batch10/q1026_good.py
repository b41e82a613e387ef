import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(2)
SEQ, OBS, ACTIONS = 32, 6, 4


class RecurrentPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(OBS, 32, batch_first=True)
        self.pi = nn.Linear(32, ACTIONS)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h, _ = self.rnn(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def masked_mean(x, masks):
    return (x * masks).sum() / masks.sum().clamp(min=1.0)


def collect(policy, n=32):
    """Episodes of different lengths, padded with zeros to SEQ steps."""
    lengths = torch.randint(2, 8, (n,))
    masks = (torch.arange(SEQ)[None] < lengths[:, None]).float()
    obs = torch.randn(n, SEQ, OBS) * masks[..., None]
    with torch.no_grad():
        dist, value = policy(obs)
        actions = dist.sample() * masks.long()
        old_log_probs = dist.log_prob(actions)
    rewards = (actions == obs[..., :ACTIONS].argmax(-1)).float() * masks
    adv = rewards - value
    mean = masked_mean(adv, masks)
    std = masked_mean((adv - mean) ** 2, masks).sqrt()
    return obs, actions, old_log_probs, rewards, (adv - mean) / (std + 1e-8), masks


policy = RecurrentPolicy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for update in range(61):
    obs, actions, old_log_probs, rewards, adv, masks = collect(policy)
    for _ in range(3):
        dist, value = policy(obs)
        ratio = (dist.log_prob(actions) - old_log_probs).exp()
        surrogate = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
        value_loss = masked_mean((value - rewards) ** 2, masks)
        policy_loss = -masked_mean(surrogate, masks)
        loss = policy_loss + 0.5 * value_loss - 0.005 * masked_mean(dist.entropy(), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if update % 10 == 0:
        print(f"update {update:3d} reward per step {(rewards.sum() / masks.sum()).item():.3f} loss {loss.item():.4f}")
