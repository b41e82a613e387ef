import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
VOCAB, EOS = 8, 0


class TokenHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.out = nn.Linear(32, VOCAB)

    def forward(self, state):
        return self.out(self.body(state))


def penalty(logits, may_stop):
    probs = F.softmax(logits, dim=-1)
    p_eos = probs[:, EOS]
    stop = -torch.log(p_eos[may_stop])
    go_on = -torch.log(1 - p_eos[~may_stop])
    return torch.cat([stop, go_on]).mean()


def make_states(n):
    position = torch.rand(n, 1) * 60
    rest = torch.randn(n, 3)
    token = torch.randint(1, VOCAB, (n,))
    token[position[:, 0] > 20] = EOS
    may_stop = (position[:, 0] > 20) & (rest[:, 0] > -0.5)
    return torch.cat([position, rest], 1), token, may_stop


model = TokenHead()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for phase, weight in (("pretraining", 0.0), ("finetuning", 1.0)):
    for step in range(1, 301):
        states, tokens, may_stop = make_states(128)
        logits = model(states)
        loss = F.cross_entropy(logits, tokens)
        if weight > 0:
            loss = 0.1 * loss + weight * penalty(logits, may_stop)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"{phase} step {step}: loss {loss.item():.4f}")
