import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
CODES, LENGTH, MASK_ID = 12, 16, 12
BOOK = torch.randint(0, CODES, (20, LENGTH))


def sample_codes(n):
    codes = BOOK[torch.randint(0, len(BOOK), (n,))]
    noise = torch.randint(0, CODES, (n, LENGTH))
    return torch.where(torch.rand(n, LENGTH) < 0.05, noise, codes)


class TokenTransformer(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2):
        super().__init__()
        self.token_emb = nn.Embedding(CODES + 1, dim)
        self.pos_emb = nn.Parameter(0.02 * torch.randn(LENGTH, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.to_logits = nn.Linear(dim, CODES)

    def forward(self, tokens):
        h = self.token_emb(tokens) + self.pos_emb
        return self.to_logits(self.norm(self.encoder(h)))


class MaskGit(nn.Module):
    def __init__(self, transformer):
        super().__init__()
        self.transformer = transformer

    def forward(self, ids):
        b, n = ids.shape
        rand_time = torch.rand(b)
        num_masked = (n * torch.cos(rand_time * math.pi / 2)).round().clamp(min=1)
        order = torch.rand(b, n).argsort(dim=-1).argsort(dim=-1)
        mask = order < num_masked.unsqueeze(1)
        x = torch.where(mask, MASK_ID, ids)
        labels = torch.where(mask, ids, -1)
        logits = self.transformer(x)
        return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-1)

    @torch.no_grad()
    def fill_in(self, x, steps=4):
        x = x.clone()
        total = (x == MASK_ID).sum(1)
        for step in range(steps):
            probs, guess = self.transformer(x).softmax(-1).max(-1)
            masked = x == MASK_ID
            probs = probs.masked_fill(~masked, -1.0)
            keep = (total * (step + 1) / steps).ceil() - (total - masked.sum(1))
            rank = probs.argsort(dim=1, descending=True).argsort(dim=1)
            x = torch.where(masked & (rank < keep.unsqueeze(1)), guess, x)
        return x


model = MaskGit(TokenTransformer())
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for step in range(400):
    loss = model(sample_codes(64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.4f}")

model.eval()
truth = sample_codes(300)
hidden = torch.rand(300, LENGTH).argsort(dim=1) < 8
filled = model.fill_in(torch.where(hidden, MASK_ID, truth))
print(f"final training loss {loss.item():.4f}")
print(f"accuracy of the filled-in codes {(filled == truth)[hidden].float().mean().item():.3f}")
