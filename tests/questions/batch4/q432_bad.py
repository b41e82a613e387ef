import math

import torch
from torch import nn

torch.manual_seed(0)


class FullAttention(nn.Module):
    def forward(self, queries, keys, values):
        B, L_Q, H, D = queries.shape
        _, L_K, _, _ = keys.shape
        queries = queries.view(B, H, L_Q, -1)
        keys = keys.view(B, H, L_K, -1)
        values = values.view(B, H, L_K, -1)
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(D)
        context = torch.softmax(scores, dim=-1) @ values
        return context.transpose(1, 2).contiguous()


class AttentionLayer(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.inner_attention = FullAttention()
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.out_projection = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, _ = x.shape
        q = self.query_projection(x).view(B, L, self.n_heads, -1)
        k = self.key_projection(x).view(B, L, self.n_heads, -1)
        v = self.value_projection(x).view(B, L, self.n_heads, -1)
        out = self.inner_attention(q, k, v).view(B, L, -1)
        return self.out_projection(out)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.attention = AttentionLayer(d_model, n_heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.GELU(), nn.Linear(2 * d_model, d_model))

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ff(x))


class Informer(nn.Module):
    def __init__(self, n_marks=10, d_model=32, n_heads=4, seq_len=12):
        super().__init__()
        self.value_embedding = nn.Linear(1, d_model)
        self.mark_embedding = nn.Embedding(n_marks, d_model)
        self.layers = nn.Sequential(EncoderLayer(d_model, n_heads), EncoderLayer(d_model, n_heads))
        self.projection = nn.Linear(d_model, 1)

    def forward(self, values, marks):
        x = self.value_embedding(values) + self.mark_embedding(marks)
        return self.projection(self.layers(x))


def get_batch(n=64, length=12):
    values = torch.randn(n, length, 1)
    marks = torch.stack([torch.randperm(10)[:6].repeat(2)[torch.randperm(length)] for _ in range(n)])
    same = (marks[:, :, None] == marks[:, None, :]).float()
    target = (same @ values) / same.sum(-1, keepdim=True)
    return values, marks, target


model = Informer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
window = []
for step in range(100):
    values, marks, target = get_batch()
    loss = (model(values, marks) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    window.append(loss.item())
    if (step + 1) % 20 == 0:
        print(f"step {step + 1}: loss {sum(window) / len(window):.4f}")
        window = []
