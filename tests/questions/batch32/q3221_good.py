import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

PAD = 0


class ScaledDotProductAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.temper = np.power(d_model, 0.5)

    def forward(self, q, k, v, attn_mask=None):
        attn = torch.bmm(q, k.transpose(1, 2)) / self.temper
        if attn_mask is not None:
            attn = attn.masked_fill(attn_mask, -1e9)
        attn = F.softmax(attn, dim=2)
        return torch.bmm(attn, v), attn


class EncoderLayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.w_qs = nn.Linear(d_model, d_model)
        self.w_ks = nn.Linear(d_model, d_model)
        self.w_vs = nn.Linear(d_model, d_model)
        self.attention = ScaledDotProductAttention(d_model)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, mask):
        out, _ = self.attention(self.w_qs(x), self.w_ks(x), self.w_vs(x), mask)
        return self.norm(x + out)


class Model(nn.Module):
    def __init__(self, vocab=30, d_model=24, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, d_model, padding_idx=PAD)
        self.layers = nn.ModuleList([EncoderLayer(d_model) for _ in range(2)])
        self.out = nn.Linear(d_model, classes)

    def forward(self, src):
        mask = get_attn_padding_mask(src, src)
        x = self.emb(src)
        for layer in self.layers:
            x = layer(x, mask)
        keep = src.ne(PAD).unsqueeze(-1).float()
        return self.out((x * keep).sum(1) / keep.sum(1))


def get_attn_padding_mask(seq_q, seq_k):
    mask_k = seq_k.eq(PAD).unsqueeze(1).expand(-1, seq_q.size(1), -1)
    mask_q = seq_q.eq(PAD).unsqueeze(2).expand(-1, -1, seq_k.size(1))
    return mask_k | mask_q


def sentences(n, length=14):
    label = torch.randint(0, 3, (n,))
    src = torch.randint(4, 30, (n, length))
    src[torch.arange(n), torch.randint(0, 6, (n,))] = label + 1
    for i, size in enumerate(torch.randint(6, length + 1, (n,)).tolist()):
        src[i, size:] = PAD
    return src, label


def main():
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    dev = sentences(300)
    for epoch in range(5):
        for _ in range(30):
            src, label = sentences(32)
            loss = F.cross_entropy(model(src), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = (model(dev[0]).argmax(1) == dev[1]).float().mean().item()
        print(f"[ Epoch {epoch} ] loss {loss.item():.4f} accuracy {100 * acc:.1f} %")


if __name__ == "__main__":
    main()
