import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

PAD, BOS, EOS = 3, 1, 2
SRC_VOCAB, TGT_VOCAB = 40, 40


def fake_corpus(n):
    src, tgt = [], []
    for _ in range(n):
        length = int(torch.randint(4, 9, (1,)))
        words = torch.randint(4, SRC_VOCAB, (length,))
        src.append(words)
        out = 4 + (words.flip(0) * 7 + 5) % (TGT_VOCAB - 4)
        tgt.append(torch.cat([torch.tensor([BOS]), out, torch.tensor([EOS])]))
    return src, tgt


class EncoderDecoder(nn.Module):
    def __init__(self, dim=64, max_len=16):
        super().__init__()
        self.src_emb = nn.Embedding(SRC_VOCAB, dim)
        self.tgt_emb = nn.Embedding(TGT_VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.1)
        self.core = nn.Transformer(dim, nhead=4, num_encoder_layers=1, num_decoder_layers=1,
                                   dim_feedforward=128, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, TGT_VOCAB)

    def forward(self, src, tgt, src_keep):
        inp, gold = tgt[:, :-1], tgt[:, 1:]
        causal = torch.triu(torch.ones(inp.size(1), inp.size(1), dtype=torch.bool), 1)
        s = self.src_emb(src) + self.pos[:src.size(1)]
        t = self.tgt_emb(inp) + self.pos[:inp.size(1)]
        h = self.core(s, t, tgt_mask=causal, src_key_padding_mask=~src_keep,
                      memory_key_padding_mask=~src_keep, tgt_key_padding_mask=inp == PAD)
        logits = self.out(h)
        loss = F.cross_entropy(logits.transpose(1, 2), gold, ignore_index=PAD)
        return loss, logits


src_raw, tgt_raw = fake_corpus(16)
src = nn.utils.rnn.pad_sequence(src_raw, batch_first=True, padding_value=PAD)
tgt = nn.utils.rnn.pad_sequence(tgt_raw, batch_first=True, padding_value=PAD)
src_keep = src != PAD

model = EncoderDecoder()
model.train()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(300):
    loss, logits = model(src, tgt, src_keep)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    loss, logits = model(src, tgt, src_keep)
    keep = tgt[:, 1:] != PAD
    hits = (logits.argmax(-1) == tgt[:, 1:])[keep].float().mean().item()
print(f"final loss {loss.item():.3f} token accuracy {hits:.3f}")
