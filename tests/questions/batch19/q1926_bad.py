import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)

VOCAB, LEN, PROMPTS, HID, PAD, EOS = 10, 12, 6, 48, 0, 1
GAMMA, LAM, STOP = 1.0, 0.8, 0.25


class Core(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.prompt = nn.Embedding(PROMPTS, HID)
        self.tok = nn.Embedding(VOCAB + 1, HID)
        self.rnn = nn.GRU(HID, HID, batch_first=True)
        self.head = nn.Linear(HID, out)

    def forward(self, prompts, tokens):
        start = torch.full_like(tokens[:, :1], VOCAB)
        x = self.tok(torch.cat([start, tokens[:, :-1]], dim=1))
        return self.head(self.rnn(x, self.prompt(prompts).unsqueeze(0))[0])


actor, critic = Core(VOCAB), Core(1)
opt_a = torch.optim.Adam(actor.parameters(), lr=2e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=3e-3)


@torch.no_grad()
def generate(prompts):
    tokens = torch.full((len(prompts), LEN), PAD)
    done = torch.zeros(len(prompts), dtype=torch.bool)
    for t in range(LEN):
        logits = actor(prompts, tokens)[:, t]
        logits[:, PAD] = -1e9
        pick = torch.distributions.Categorical(logits=logits).sample()
        tokens[:, t] = torch.where(done, torch.full_like(pick, PAD), pick)
        done = done | (pick == EOS) | (torch.rand(len(prompts)) < STOP)
    return tokens


def rewards_for(prompts, tokens, mask):
    wanted = (prompts % 7 + 2).unsqueeze(1)
    good = (tokens == wanted).float()
    bad = ((tokens != wanted) & (tokens != EOS)).float()
    return (0.5 * good - 0.25 * bad) * mask


def gae(token_rewards, values, mask):
    advs, last = [], 0.0
    for t in reversed(range(LEN)):
        next_v = values[:, t + 1] if t < LEN - 1 else 0.0
        delta = token_rewards[:, t] + GAMMA * next_v - values[:, t]
        last = delta + GAMMA * LAM * last
        advs.append(last)
    adv = torch.stack(advs[::-1], dim=1)
    return adv * mask, (adv + values) * mask


def logp_of(prompts, tokens):
    logits = actor(prompts, tokens)
    logits = logits.index_fill(-1, torch.tensor([PAD]), -1e9)
    return F.log_softmax(logits, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


history = []
for it in range(150):
    prompts = torch.randint(0, PROMPTS, (96,))
    tokens = generate(prompts)
    mask = (tokens != PAD).float()
    rew = rewards_for(prompts, tokens, mask)
    with torch.no_grad():
        values = critic(prompts, tokens).squeeze(-1)
        adv, ret = gae(rew, values, mask)
        mean = (adv * mask).sum() / mask.sum()
        std = (((adv - mean) ** 2 * mask).sum() / mask.sum()).sqrt()
        adv = (adv - mean) / (std + 1e-6) * mask
        old = logp_of(prompts, tokens) * mask
    for _ in range(3):
        ratio = torch.exp(logp_of(prompts, tokens) * mask - old)
        pg = torch.maximum(-adv * ratio, -adv * ratio.clamp(0.8, 1.2))
        pg_loss = (pg * mask).sum() / mask.sum()
        opt_a.zero_grad()
        pg_loss.backward()
        opt_a.step()
        v = critic(prompts, tokens).squeeze(-1)
        v_loss = ((v - ret) ** 2 * mask).sum() / mask.sum()
        opt_c.zero_grad()
        v_loss.backward()
        opt_c.step()
    to_go = rew.flip(1).cumsum(1).flip(1)
    history.append((((v.detach() - to_go) * mask).sum() / mask.sum()).item())
    if it % 30 == 29:
        print(f"iter {it}  reward {rew.sum(1).mean():.3f}  v loss {v_loss.item():.4f}  "
              f"critic mean {((v * mask).sum() / mask.sum()).item():.3f}  "
              f"reward to go {((to_go * mask).sum() / mask.sum()).item():.3f}")
tail = sum(history[-50:]) / 50
print(f"final reward {rew.sum(1).mean():.3f}  critic minus reward to go, mean of the last 50 iterations {tail:+.3f}")
