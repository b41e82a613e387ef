import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)

VOCAB, RESP, PROMPTS, HID = 12, 10, 8, 48
EOS = 0


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.prompt = nn.Embedding(PROMPTS, HID)
        self.tok = nn.Embedding(VOCAB + 1, HID)
        self.rnn = nn.GRU(HID, HID, batch_first=True)
        self.head = nn.Linear(HID, VOCAB)

    def forward(self, prompts, tokens):
        start = torch.full_like(tokens[:, :1], VOCAB)
        inp = self.tok(torch.cat([start, tokens[:, :-1]], dim=1))
        out, _ = self.rnn(inp, self.prompt(prompts).unsqueeze(0))
        return self.head(out)

    @torch.no_grad()
    def generate(self, prompts):
        h = self.prompt(prompts).unsqueeze(0)
        last = torch.full((len(prompts), 1), VOCAB)
        toks = []
        for _ in range(RESP):
            out, h = self.rnn(self.tok(last), h)
            last = torch.distributions.Categorical(logits=self.head(out[:, -1])).sample().unsqueeze(1)
            toks.append(last)
        return torch.cat(toks, dim=1)


def response_mask_of(tokens):
    ended = (tokens == EOS).cumsum(dim=1)
    return ((ended - (tokens == EOS).long()) == 0).float()


def score(prompts, tokens, mask):
    wanted = (prompts % (VOCAB - 1) + 1).unsqueeze(1)
    return ((tokens == wanted).float() * mask).sum(dim=1)


def masked_mean(x, mask):
    return (x * mask).sum() / (mask.sum() + 1e-8)


def policy_loss_fn(old_log_prob, log_prob, advantages, response_mask, clip=0.2):
    ratio = torch.exp(log_prob - old_log_prob)
    unclipped = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip, 1 + clip)
    return masked_mean(torch.maximum(unclipped, clipped), response_mask)


def token_log_prob(actor, prompts, tokens):
    logp = F.log_softmax(actor(prompts, tokens), dim=-1)
    return logp.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


actor = Actor()
opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
history = []
for it in range(250):
    prompts = torch.randint(0, PROMPTS, (128,))
    tokens = actor.generate(prompts)
    mask = response_mask_of(tokens)
    reward = score(prompts, tokens, mask)
    adv = (reward - reward.mean()) / (reward.std() + 1e-6)
    advantages = adv.unsqueeze(1) * mask
    with torch.no_grad():
        old_log_prob = token_log_prob(actor, prompts, tokens)
    for _ in range(2):
        log_prob = token_log_prob(actor, prompts, tokens)
        pg_loss = policy_loss_fn(
            old_log_prob=old_log_prob,
            log_prob=log_prob,
            advantages=advantages,
            response_mask=mask,
        )
        opt.zero_grad()
        pg_loss.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
        opt.step()
    history.append(reward.mean().item())
    if it % 50 == 0:
        print(f"iter {it:3d}  reward {history[-1]:.3f}  pg loss {pg_loss.item():.4f}")
print(f"reward of the first 10 iterations {sum(history[:10]) / 10:.3f}, of the last 10 {sum(history[-10:]) / 10:.3f}")
