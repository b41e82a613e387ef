import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
PAD, BOS, EOS, VOCAB = 0, 1, 2, 24


class AutoregressiveWrapper(nn.Module):
    def __init__(self, net, pad_value=0, ignore_index=-100):
        super().__init__()
        self.net = net
        self.pad_value = pad_value
        self.ignore_index = ignore_index

    def forward(self, tokens, context):
        inp, target = tokens[:, :-1], tokens[:, 1:]
        logits = self.net(inp, context)
        return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=self.ignore_index)


class Decoder(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.ctx = nn.Linear(8, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens, context):
        h0 = torch.tanh(self.ctx(context)).unsqueeze(0)
        out, _ = self.rnn(self.emb(tokens), h0)
        return self.head(out)


def make_formula(n_ctx):
    length = 3 if torch.rand(()) < 0.9 else 30
    body = (int(n_ctx) + 3 * torch.arange(length)) % (VOCAB - 3) + 3
    return torch.cat([torch.tensor([BOS]), body, torch.tensor([EOS])])


def make_batch(n=32):
    ids = torch.randint(0, 8, (n,))
    tokens = pad_sequence([make_formula(i) for i in ids], batch_first=True, padding_value=PAD)
    return F.one_hot(ids, 8).float(), tokens


decoder = AutoregressiveWrapper(Decoder(VOCAB), pad_value=PAD, ignore_index=PAD)
opt = torch.optim.Adam(decoder.parameters(), lr=3e-3)
for step in range(121):
    context, tokens = make_batch()
    loss = decoder(tokens, context)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        with torch.no_grad():
            pred = decoder.net(tokens[:, :-1], context).argmax(-1)
            real = tokens[:, 1:] != PAD
            acc = (pred == tokens[:, 1:])[real].float().mean().item()
        print(f"step {step:3d} loss {loss.item():.4f} token acc {acc:.3f}")
