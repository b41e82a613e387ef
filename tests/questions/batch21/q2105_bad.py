import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SOS, VOCAB, LENGTH, DIM = 0, 12, 8, 48


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.position = nn.Parameter(torch.randn(LENGTH + 1, DIM))
        enc = nn.TransformerEncoderLayer(DIM, 4, 96, dropout=0.0, batch_first=True)
        dec = nn.TransformerDecoderLayer(DIM, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(enc, 1)
        self.decoder = nn.TransformerDecoder(dec, 1)
        self.out = nn.Linear(DIM, VOCAB)

    def encode(self, src):
        return self.encoder(self.embed(src) + self.position[:src.size(1)])

    def decode(self, tgt, memory):
        x = self.embed(tgt) + self.position[:tgt.size(1)]
        return self.out(self.decoder(x, memory))

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src))

    @torch.no_grad()
    def generate(self, src):
        memory = self.encode(src)
        tokens = torch.full((src.size(0), 1), SOS)
        for _ in range(LENGTH):
            step = self.decode(tokens, memory)[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, step], dim=1)
        return tokens[:, 1:]


def pairs(n, gen):
    src = torch.randint(1, VOCAB, (n, LENGTH), generator=gen)
    clean = src * 3 % 11 + 1
    slip = torch.rand(n, LENGTH, generator=gen) < 0.15
    tgt = torch.where(slip, torch.randint(1, VOCAB, (n, LENGTH), generator=gen), clean)
    return src, tgt, clean


gen = torch.Generator().manual_seed(2)
model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
losses = []
for step in range(700):
    src, tgt, _ = pairs(64, gen)
    dec_in = torch.cat([torch.full((src.size(0), 1), SOS), tgt[:, :-1]], dim=1)
    logits = model(src, dec_in)
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), tgt.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())

model.eval()
src, tgt, clean = pairs(300, gen)
guess = model.generate(src)
print(f"train loss, last 20 steps {sum(losses[-20:]) / 20:.4f}")
print(f"generated tokens right {(guess == clean).float().mean():.4f}")
print(f"generated sequences right {(guess == clean).all(1).float().mean():.4f}")
