import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
VOCAB, PAD, EOS, MAXLEN = 12, 0, 1, 8


class Policy(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.prompt = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def step(self, tok, h):
        out, h = self.rnn(self.emb(tok)[:, None], h)
        return self.head(out[:, 0]), h

    def forward(self, prompts, responses):
        h = self.prompt(prompts)[None]
        start = torch.full_like(responses[:, :1], EOS)
        out, _ = self.rnn(self.emb(torch.cat([start, responses[:, :-1]], 1)), h.contiguous())
        return self.head(out)


@torch.no_grad()
def rollout(policy, prompts):
    h = policy.prompt(prompts)[None].contiguous()
    tok = torch.full_like(prompts, EOS)
    done = torch.zeros_like(prompts, dtype=torch.bool)
    tokens, mask = [], []
    for _ in range(MAXLEN):
        logits, h = policy.step(tok, h)
        tok = torch.multinomial(logits.softmax(-1), 1)[:, 0]
        tok = torch.where(done, torch.full_like(tok, PAD), tok)
        tokens.append(tok)
        mask.append(~done)
        done = done | (tok == EOS)
    return torch.stack(tokens, 1), torch.stack(mask, 1)


def reward_fn(prompts, responses, mask):
    right = ((responses == prompts[:, None]) & mask).float().sum(1)
    other = ((responses != prompts[:, None]) & (responses != EOS) & mask).float().sum(1)
    ended = ((responses == EOS) & mask).any(1).float()
    return right.clamp(max=3) - 0.3 * other - (right - 3).clamp(min=0) + ended


def agg_loss(loss_mat, loss_mask, loss_agg_mode, batch_num_tokens):
    if loss_agg_mode == "token-mean":
        loss = torch.where(loss_mask, loss_mat, torch.zeros_like(loss_mat)).sum() / batch_num_tokens
    else:
        loss = ((loss_mat * loss_mask).sum(-1) / loss_mask.sum(-1)).mean()
    return loss


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for step in range(200):
    prompts = torch.randint(2, VOCAB, (96,))
    responses, mask = rollout(policy, prompts)
    rewards = reward_fn(prompts, responses, mask)
    adv = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    logits = policy(prompts, responses)
    logp = F.log_softmax(logits, -1).gather(-1, responses[..., None])[..., 0]
    ratio = torch.exp(logp - logp.detach())
    pg = -torch.min(ratio * adv[:, None], ratio.clamp(0.8, 1.2) * adv[:, None])
    entropy = -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)
    n = mask.sum()
    pg_loss = agg_loss(pg, mask, "token-mean", n)
    ent = agg_loss(entropy, mask, "token-mean", n)
    loss = pg_loss - 0.02 * ent
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0 or step == 199:
        print(f"step {step:3d} pg_loss {pg_loss.item():+.4f} entropy {ent.item():.4f} "
              f"reward {rewards.mean():+.3f} length {mask.sum(1).float().mean():.2f}")
