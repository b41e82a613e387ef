import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(0)

VOCAB, EOS, PAD, MAX_LEN, GROUP = 8, 1, 0, 24, 8


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, 24)
        self.rnn = nn.GRU(24, 48, batch_first=True)
        self.head = nn.Linear(48, VOCAB)

    def forward(self, prompts, tokens):
        inp = torch.cat([prompts[:, None], tokens[:, :-1]], dim=1)
        h, _ = self.rnn(self.embed(inp))
        return self.head(h)

    @torch.no_grad()
    def generate(self, prompts):
        inp, hidden, out = prompts[:, None], None, []
        done = torch.zeros(len(prompts), dtype=torch.bool)
        for _ in range(MAX_LEN):
            h, hidden = self.rnn(self.embed(inp), hidden)
            logits = self.head(h[:, -1])
            logits[:, PAD] = -1e9
            logits[:, EOS] += 1.0
            tok = Categorical(logits=logits).sample()
            tok = torch.where(done, torch.full_like(tok, PAD), tok)
            done = done | (tok == EOS)
            out.append(tok)
            inp = tok[:, None]
        return torch.stack(out, dim=1)


def response_mask(tokens):
    return (tokens != PAD).float()


def reward_fn(prompts, tokens):
    mask = response_mask(tokens)
    good = (tokens == prompts[:, None]).float() * mask
    return good.sum(1) / mask.sum(1)


def policy_loss(logp, old_logp, advantages, mask, clip=0.2):
    ratio = (logp - old_logp).exp()
    surr1 = ratio * advantages
    surr2 = ratio.clamp(1 - clip, 1 + clip) * advantages
    loss = -torch.min(surr1, surr2) * mask
    return loss.sum() / mask.sum()


def kl_loss(logp, ref_logp, mask):
    d = ref_logp - logp
    return ((d.exp() - 1 - d) * mask).sum() / mask.sum()


def logprobs(model, prompts, tokens):
    logp = F.log_softmax(model(prompts, tokens), dim=-1)
    return logp.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


policy = Policy()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.5, momentum=0.9)
ref = Policy()
ref.load_state_dict(policy.state_dict())

for step in range(1, 61):
    prompts = torch.randint(2, VOCAB, (8,)).repeat_interleave(GROUP)
    tokens = policy.generate(prompts)
    mask = response_mask(tokens)
    rewards = reward_fn(prompts, tokens).view(-1, GROUP)
    adv = ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-6)).view(-1, 1)
    with torch.no_grad():
        old_logp = logprobs(policy, prompts, tokens)
        ref_logp = logprobs(ref, prompts, tokens)
    for _ in range(2):
        logp = logprobs(policy, prompts, tokens)
        pg = policy_loss(logp, old_logp, adv, mask)
        kl = kl_loss(logp, ref_logp, mask)
        loss = pg + 0.01 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 10 == 0:
        print(f"step {step} pg loss {pg.item():.5f} kl {kl.item():.5f} reward {rewards.mean():.4f} "
              f"mean length {mask.sum(1).mean():.2f}")
