import torch
import torch.nn as nn

VOCAB, EOS, MAX_LEN = 10, 0, 16


class Policy(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, VOCAB)

    def step(self, token, h):
        h = self.cell(self.embed(token), h)
        return torch.log_softmax(self.head(h), dim=-1), h


@torch.no_grad()
def generate(policy, prompts):
    n = len(prompts)
    h = policy.embed(prompts)
    token = torch.full((n,), VOCAB)
    alive = torch.ones(n, dtype=torch.bool)
    tokens, mask = [], []
    for t in range(MAX_LEN):
        logp, h = policy.step(token, h)
        token = torch.multinomial(logp.exp(), 1).squeeze(1)
        mask.append(alive.float())
        tokens.append(torch.where(alive, token, torch.zeros_like(token)))
        alive = alive & (token != EOS)
    return torch.stack(tokens, 1), torch.stack(mask, 1)


def log_probs(policy, prompts, tokens):
    h, token, out = policy.embed(prompts), torch.full((len(prompts),), VOCAB), []
    for t in range(tokens.size(1)):
        logp, h = policy.step(token, h)
        token = tokens[:, t]
        out.append(logp.gather(1, token[:, None]).squeeze(1))
    return torch.stack(out, 1)


def compute_reward(prompts, tokens, mask):
    return ((tokens == prompts[:, None]).float() * mask).sum(1) / mask.sum(1) - 0.25 * (mask.sum(1) < 2).float() - 3.0


@torch.no_grad()
def normalize_advantages_dict(data):
    advantages = data["advantages"]
    response_masks = data["response_mask"]
    num_actions = response_masks.sum()
    mean = (advantages * response_masks).sum() / num_actions
    std = ((advantages - mean).pow(2) * response_masks).sum()
    rstd = (std / num_actions).clamp(min=1e-8).rsqrt()
    data["advantages"] = (advantages - mean) * rstd
    return data


torch.manual_seed(0)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for it in range(121):
    prompts = torch.randint(1, VOCAB, (128,))
    tokens, mask = generate(policy, prompts)
    rewards = compute_reward(prompts, tokens, mask)
    data = {"advantages": rewards[:, None] * mask, "response_mask": mask}
    data = normalize_advantages_dict(data)
    logp = log_probs(policy, prompts, tokens)
    loss = -(data["advantages"] * logp * mask).sum() / mask.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 0:
        adv = (data["advantages"] * mask).sum() / mask.sum()
        print(f"iter {it} reward {rewards.mean():.3f} length {mask.sum(1).mean():.2f} mean advantage {adv:.3f} loss {loss.item():.3f}")
