import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
VOCAB, PAD, BOS = 14, 0, 1


class Encoder(nn.Module):
    def __init__(self, dim=24, hidden=32, layers=1):
        super().__init__()
        self.layers, self.hidden = layers, hidden
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, hidden, layers, bidirectional=True)

    def forward(self, src):
        bsz, seqlen = src.size()
        x = self.embed(src).transpose(0, 1)
        x, (h, c) = self.lstm(x)

        def combine_bidir(outs):
            return outs.view(self.layers, bsz, 2 * self.hidden)

        return x, combine_bidir(h), combine_bidir(c)


class Decoder(nn.Module):
    def __init__(self, dim=24, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, hidden)
        self.fc_out = nn.Linear(hidden, VOCAB)

    def forward(self, prev, h, c):
        x = self.embed(prev).transpose(0, 1)
        x, _ = self.lstm(x, (h, c))
        return self.fc_out(x).transpose(0, 1)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def forward(self, src, prev):
        _, h, c = self.encoder(src)
        return self.decoder(prev, h, c)


def sample(bsz, length=4):
    src = torch.randint(2, VOCAB, (bsz, length))
    target = src.flip(1)
    prev = torch.cat([torch.full((bsz, 1), BOS), target[:, :-1]], 1)
    return src, prev, target


def main():
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(400):
        src, prev, target = sample(64)
        logits = model(src, prev)
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    model.eval()
    with torch.no_grad():
        src, prev, target = sample(512)
        accuracy = (model(src, prev).argmax(-1) == target).float().mean()
    print(f"loss {loss.item():.3f} token accuracy {accuracy.item():.3f}")


main()
