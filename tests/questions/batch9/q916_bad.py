"""An autoregressive transformer over the codes of a quantised image, as used after a VQ-VAE."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

N_CODES, LENGTH = 16, 16
BEGIN = N_CODES


class DecoderOnlyTransformer(nn.Module):
    def __init__(self, dim=48, layers=2):
        super().__init__()
        self.token = nn.Embedding(N_CODES + 1, dim)
        self.position = nn.Embedding(LENGTH + 1, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.to_logits = nn.Linear(dim, N_CODES + 1)

    def forward(self, tokens):
        t = tokens.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        h = self.token(tokens) + self.position(torch.arange(t))
        return self.to_logits(self.blocks(h, mask=mask, is_causal=True))


def make_codes(n):
    codes = torch.zeros(n, LENGTH, dtype=torch.long)
    codes[:, 0] = torch.randint(0, N_CODES, (n,))
    stride = torch.randint(1, 4, (n,))
    for i in range(1, LENGTH):
        codes[:, i] = (codes[:, i - 1] + stride) % N_CODES
    return codes


@torch.no_grad()
def complete(model, latent, keep=4):
    tokens = latent[:, : keep + 1]
    while tokens.size(1) < latent.size(1):
        tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], dim=1)
    return (tokens[:, keep + 1 :] == latent[:, keep + 1 :]).float().mean().item()


model = DecoderOnlyTransformer()
ce_loss = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(160):
    latent = F.pad(make_codes(32), (1, 0), value=BEGIN)
    logits = model(latent).transpose(1, 2)
    loss = ce_loss(logits, latent)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        test = F.pad(make_codes(64), (1, 0), value=BEGIN)
        print(f"step {step}: loss {loss.item():.4f} completed codes right {complete(model, test):.3f}")
