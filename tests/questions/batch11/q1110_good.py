import torch
import torch.nn as nn
import torch.nn.functional as F


class MHAttentionMap(nn.Module):
    """Only the attention weights, no values."""

    def __init__(self, query_dim, hidden_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.q_linear = nn.Linear(query_dim, hidden_dim)
        self.k_linear = nn.Linear(query_dim, hidden_dim)
        self.normalize_fact = float(hidden_dim / num_heads) ** -0.5

    def forward(self, q, k, mask=None):
        q = self.q_linear(q)
        k = F.conv2d(k, self.k_linear.weight.unsqueeze(-1).unsqueeze(-1), self.k_linear.bias)
        qh = q.view(q.shape[0], q.shape[1], self.num_heads, self.hidden_dim // self.num_heads)
        kh = k.view(k.shape[0], self.num_heads, self.hidden_dim // self.num_heads, k.shape[-2], k.shape[-1])
        weights = torch.einsum("bqnc,bnchw->bqnhw", qh * self.normalize_fact, kh)
        if mask is not None:
            weights = weights.masked_fill(mask.unsqueeze(1).unsqueeze(1), float("-inf"))
        return F.softmax(weights.flatten(3), dim=-1).view(weights.size())


class MaskHead(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.attention = MHAttentionMap(dim, dim, heads)
        self.conv1 = nn.Conv2d(heads, 16, 3, padding=1)
        self.gn = nn.GroupNorm(4, 16)
        self.conv2 = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, queries, feats, pad_mask):
        maps = self.attention(queries, feats, pad_mask)
        x = maps.flatten(0, 1)
        x = F.relu(self.gn(self.conv1(x)))
        return self.conv2(x).view(maps.shape[0], maps.shape[1], *maps.shape[-2:])


class SegData:
    def __init__(self, dim=16, n_classes=5):
        self.proto = torch.randn(n_classes, dim)

    def batch(self, n=8, size=8, n_query=3):
        labels = torch.randint(0, len(self.proto), (n, size // 2, size // 2))
        labels = labels.repeat_interleave(2, 1).repeat_interleave(2, 2)
        feats = self.proto[labels].permute(0, 3, 1, 2) + 0.5 * torch.randn(n, self.proto.shape[1], size, size)
        cls = torch.randint(0, len(self.proto), (n, n_query))
        target = (labels.unsqueeze(1) == cls[:, :, None, None]).float()
        pad = torch.zeros(n, size, size, dtype=torch.bool)
        pad[:, :, -1] = True
        return self.proto[cls], feats, pad, target


torch.manual_seed(5)
data = SegData()
head = MaskHead()
optimizer = torch.optim.AdamW(head.parameters(), lr=2e-3, weight_decay=1e-4)
for it in range(1, 201):
    queries, feats, pad, target = data.batch()
    logits = head(queries, feats, pad)
    loss = F.binary_cross_entropy_with_logits(logits, target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(head.parameters(), 0.1)
    optimizer.step()
    if it % 40 == 0:
        acc = ((logits > 0).float() == target).float().mean().item()
        print(f"iter {it}: loss_mask {loss.item():.4f}  pixel acc {acc:.3f}")
