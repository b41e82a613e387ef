import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)

FRAMES, FEATS = 20, 12


def make_clips(n, gen):
    frames = torch.randn(n, FRAMES, FEATS, generator=gen)
    frames[:, :, 0] = 0.0
    rows = torch.arange(n)
    where = torch.randint(0, FRAMES, (n,), generator=gen)
    frames[rows, where, 0] = 3.0
    score = torch.tanh(frames[rows, where, 1]) + 0.5 * frames[rows, where, 2].clamp(-2, 2)
    return frames, score


class QualityPredictor(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.proj = nn.Linear(FEATS, dim)
        self.attn = nn.MultiheadAttention(dim, num_heads=4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, frames):
        x = self.proj(frames)
        mixed, _ = self.attn(x, x, x, need_weights=False)
        x = self.norm(x + mixed)
        return self.head(x[:, 0]).squeeze(-1)


gen = torch.Generator().manual_seed(2)
train_x, train_y = make_clips(3000, gen)
test_x, test_y = make_clips(300, gen)

model = QualityPredictor()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(20):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(order), 32):
        idx = order[start:start + 32]
        loss = F.mse_loss(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / len(order):.4f}")

model.eval()
with torch.no_grad():
    together = model(test_x)
    alone = torch.cat([model(test_x[i:i + 1]) for i in range(len(test_x))])
print(f"test mse {F.mse_loss(together, test_y).item():.4f} (variance of the scores {test_y.var().item():.4f})")
print(f"one clip at a time, largest change {(together - alone).abs().max().item():.5f}")
