import numpy as np
import torch
import torch.nn as nn


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.sqrt_dim = np.sqrt(dim)

    def forward(self, query, key, value, mask=None):
        score = torch.matmul(query, key.transpose(-2, -1)) / self.sqrt_dim
        if mask is not None:
            score = score.masked_fill(mask, -1e9)
        attn = torch.softmax(score, -1)
        return torch.matmul(attn, value)


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d_head = heads, dim // heads
        self.query_proj, self.key_proj, self.value_proj = (
            nn.Linear(dim, dim),
            nn.Linear(dim, dim),
            nn.Linear(dim, dim),
        )
        self.attention = ScaledDotProductAttention(self.d_head)

    def split(self, x):
        return x.view(x.size(0), -1, self.heads, self.d_head).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        mask = mask.unsqueeze(1) if mask is not None else None
        context = self.attention(
            self.split(self.query_proj(q)), self.split(self.key_proj(k)), self.split(self.value_proj(v)), mask
        )
        return context.transpose(1, 2).reshape(q.size(0), -1, self.heads * self.d_head)


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.self_attention = MultiHeadAttention(dim, heads)
        self.feed_forward = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, mask, non_pad):
        x = self.norm1(x + self.self_attention(x, x, x, mask)) * non_pad
        return self.norm2(x + self.feed_forward(x)) * non_pad


class SpeechTransformer(nn.Module):
    def __init__(self, classes, input_dim=20, dim=32, layers=2):
        super().__init__()
        self.input_proj = nn.Linear(input_dim, dim)
        self.layers = nn.ModuleList(EncoderLayer(dim, 4) for _ in range(layers))
        self.generator = nn.Linear(dim, classes)

    def forward(self, inputs, lengths):
        position = torch.arange(inputs.size(1)).unsqueeze(0)
        pad = position >= lengths.unsqueeze(1)
        mask = pad.unsqueeze(1) | pad.unsqueeze(2)
        non_pad = (~pad).float().unsqueeze(-1)
        x = self.input_proj(inputs)
        for layer in self.layers:
            x = layer(x, mask, non_pad)
        return self.generator(x), pad


def load(basis, n=16, frames=20):
    targets = torch.randint(1, 8, (n, frames))
    inputs = basis[targets] + 0.3 * torch.randn(n, frames, 20)
    lengths = torch.randint(8, frames + 1, (n,))
    return inputs, lengths, targets


torch.manual_seed(0)
basis = torch.randn(8, 20)
model = SpeechTransformer(8)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(60):
    inputs, lengths, targets = load(basis)
    logits, pad = model(inputs, lengths)
    loss = nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.masked_fill(pad, 0).flatten(), ignore_index=0
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0 or step == 59:
        print(f"step {step} loss {loss.item():.4f}")
