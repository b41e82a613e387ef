import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, attn_mask=None):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        if attn_mask is not None:
            attn_mask = attn_mask.to(torch.bool)
            attn = attn.masked_fill(~attn_mask[:, None, None, :], float("-inf"))
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)


class PatchClassifier(nn.Module):
    def __init__(self, patch=12, dim=32, classes=4):
        super().__init__()
        self.embed = nn.Linear(patch, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, patches, mask):
        x = self.embed(patches)
        x = x + self.attn(self.norm1(x), mask)
        x = x + self.mlp(self.norm2(x))
        weights = mask.unsqueeze(-1).float()
        return self.head((x * weights).sum(1) / weights.sum(1))


prototypes = torch.randn(4, 12)
labels = torch.randint(0, 4, (512,))
patches = torch.randn(512, 10, 12) + prototypes[labels].unsqueeze(1)
mask = torch.arange(10) < torch.randint(4, 11, (512, 1))
model = PatchClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(1, 9):
    total = 0.0
    for index in torch.randperm(512).split(64):
        loss = F.cross_entropy(model(patches[index], mask[index]), labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2 == 0:
        print(f"epoch {epoch}: loss {total / 8:.4f}")
