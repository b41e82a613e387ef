import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, GO, VOCAB = 0, 1, 14


def sequence_mask(lengths, max_len):
    return torch.arange(max_len)[None, :] < lengths[:, None]


class BahdanauAttention(nn.Module):
    def __init__(self, hsz):
        super().__init__()
        self.hsz = hsz
        self.W_a = nn.Linear(hsz, hsz, bias=False)
        self.E_a = nn.Linear(hsz, hsz, bias=False)
        self.v = nn.Linear(hsz, 1, bias=False)
        self.W_c = nn.Linear(2 * hsz, hsz)

    def forward(self, query_t, keys_bth, keys_mask):
        q = self.W_a(query_t)[:, None, :]
        u = self.E_a(keys_bth)
        a = self.v(torch.tanh(q + u)).squeeze(2)
        a.masked_fill(keys_mask == 0, -1e9)
        a = F.softmax(a, dim=-1)
        context = torch.bmm(a[:, None, :], keys_bth).squeeze(1)
        return self.W_c(torch.cat([context, query_t], dim=1))


class Seq2Seq(nn.Module):
    def __init__(self, hsz=48):
        super().__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(VOCAB, hsz), nn.Embedding(VOCAB, hsz)
        self.encoder = nn.GRU(hsz, hsz, batch_first=True)
        self.cell = nn.GRUCell(2 * hsz, hsz)
        self.attn = BahdanauAttention(hsz)
        self.proj = nn.Linear(hsz, VOCAB)

    def forward(self, src, lengths, tgt=None, steps=None):
        packed = pack_padded_sequence(self.src_emb(src), lengths, batch_first=True, enforce_sorted=False)
        out, h = self.encoder(packed)
        keys, _ = pad_packed_sequence(out, batch_first=True)
        mask = sequence_mask(lengths, keys.size(1))
        h, prev, feed = h[0], torch.full((len(src),), GO), torch.zeros(len(src), keys.size(2))
        logits = []
        for t in range(steps or tgt.size(1)):
            h = self.cell(torch.cat([self.tgt_emb(prev), feed], dim=1), h)
            feed = torch.tanh(self.attn(h, keys, mask))
            logits.append(self.proj(feed))
            prev = tgt[:, t] if tgt is not None else logits[-1].argmax(1)
        return torch.stack(logits, dim=1)


def make_batch(n, low=2, high=10):
    lengths = torch.randint(low, high + 1, (n,))
    src = torch.randint(2, VOCAB, (n, int(lengths.max())))
    src[~sequence_mask(lengths, src.size(1))] = PAD
    tgt = src.clone()
    for row, length in zip(tgt, lengths.tolist()):
        row[:length] = row[:length].sort().values
    return src, lengths, tgt


torch.manual_seed(0)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(360):
    bucket = 2 + step * 5 % 9
    src, lengths, tgt = make_batch(64, bucket, bucket)
    loss = F.cross_entropy(model(src, lengths, tgt).transpose(1, 2), tgt, ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 72 == 71:
        print(f"step {step + 1} loss {loss.item():.4f}")

model.eval()
src, lengths, tgt = make_batch(100)
with torch.no_grad():
    batched = model(src, lengths, steps=tgt.size(1)).argmax(2)
    same = right_b = right_s = 0
    for i, n in enumerate(lengths.tolist()):
        single = model(src[i:i + 1, :n], lengths[i:i + 1], steps=n).argmax(2)[0]
        same += torch.equal(single, batched[i, :n])
        right_b += torch.equal(batched[i, :n], tgt[i, :n])
        right_s += torch.equal(single, tgt[i, :n])
print(f"of 100 sentences right in one batch {right_b}, right one by one {right_s}, same output {same}")
