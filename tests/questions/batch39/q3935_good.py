import torch
import torch.nn as nn
import torch.nn.functional as F

BOS, VOCAB, LENGTH = 0, 9, 4


class Transliterator(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(VOCAB, dim), nn.Embedding(VOCAB, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(2 * dim, dim, batch_first=True)
        self.proj = nn.Linear(dim, VOCAB)

    def encode(self, src_seq):
        return self.encoder(self.src_emb(src_seq))[1][0]

    def decode(self, input_data, enc_output):
        emb = self.tgt_emb(input_data)
        ctx = enc_output[:, None].expand(-1, emb.size(1), -1)
        out, _ = self.decoder(torch.cat((emb, ctx), dim=2))
        return F.log_softmax(self.proj(out), dim=2)


class Beam:
    def __init__(self, size):
        self.size = size
        self.seqs = torch.full((size, 1), BOS)
        self.scores = torch.full((size,), -1e9)
        self.scores[0] = 0.0

    def get_current_state(self):
        return self.seqs

    def advance(self, word_lk):
        total = self.scores[:, None] + word_lk
        self.scores, idx = total.view(-1).topk(self.size)
        self.seqs = torch.cat((self.seqs[idx // VOCAB], (idx % VOCAB)[:, None]), dim=1)

    def best(self):
        return self.seqs[self.scores.argmax(), 1:]


@torch.no_grad()
def translate_batch(model, src_seq, beam_size=3):
    batch_size = len(src_seq)
    enc_output = model.encode(src_seq)
    enc_output = enc_output.repeat_interleave(beam_size, dim=0)
    beams = [Beam(beam_size) for _ in range(batch_size)]
    for _ in range(LENGTH):
        input_data = torch.stack([b.get_current_state() for b in beams])
        input_data = input_data.view(batch_size * beam_size, -1)
        word_lk = model.decode(input_data, enc_output)[:, -1]
        word_lk = word_lk.view(batch_size, beam_size, VOCAB)
        for b, lk in zip(beams, word_lk):
            b.advance(lk)
    return torch.stack([b.best() for b in beams])


def get_batch(n):
    src = torch.randint(1, VOCAB, (n, LENGTH))
    tgt = src.flip(1) % (VOCAB - 1) + 1
    return src, tgt


torch.manual_seed(0)
model = Transliterator()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(400):
    src, tgt = get_batch(64)
    inp = torch.cat((torch.full((64, 1), BOS), tgt[:, :-1]), dim=1)
    loss = F.nll_loss(model.decode(inp, model.encode(src)).transpose(1, 2), tgt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.4f}")
src, tgt = get_batch(120)
for batch_size in (1, 5, 30):
    out = torch.cat([translate_batch(model, s) for s in src.split(batch_size)])
    print(f"batch size {batch_size}: sentences right {(out == tgt).all(1).float().mean():.3f}")
