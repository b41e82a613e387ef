import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
K, H, W, DIM = 8, 16, 24, 6
BATCH, STEPS = 32, 200


def make_maps(n):
    rows = torch.arange(H).view(1, H, 1)
    cols = torch.arange(W).view(1, 1, W)
    maps = torch.randint(0, K, (n, 1, 1)).expand(n, H, W).clone()
    for _ in range(4):
        y0 = torch.randint(0, H - 6, (n, 1, 1))
        x0 = torch.randint(0, W - 8, (n, 1, 1))
        h = torch.randint(4, 8, (n, 1, 1))
        w = torch.randint(4, 10, (n, 1, 1))
        label = torch.randint(0, K, (n, 1, 1)).expand(n, H, W)
        inside = (rows >= y0) & (rows < y0 + h) & (cols >= x0) & (cols < x0 + w)
        maps = torch.where(inside, label, maps)
    return maps.unsqueeze(1)


def corrupt(maps, t):
    noise = torch.randint(0, K, maps.shape)
    keep = torch.rand(maps.shape) > t.view(-1, 1, 1, 1)
    return torch.where(keep, maps, noise)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1 = nn.Conv2d(c, c, 3, padding=1)
        self.c2 = nn.Conv2d(c, c, 3, padding=1)
        self.norm = nn.GroupNorm(4, c)

    def forward(self, x, temb):
        h = F.silu(self.norm(self.c1(x)) + temb[:, :, None, None])
        return x + self.c2(h)


class Denoiser(nn.Module):
    def __init__(self, channels=1, width=32):
        super().__init__()
        self.embedding = nn.Embedding(K, DIM)
        self.stem = nn.Conv2d(channels * DIM, width, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.out = nn.Conv2d(width, K, 1)

    def forward(self, x, t):
        b, c, h, w = x.shape
        x = self.embedding(x)
        x = x.permute(0, 1, 4, 2, 3)
        x = x.reshape(b, c * DIM, h, w)
        temb = self.time(t.view(-1, 1))
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, temb)
        return self.out(x)


model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(STEPS):
    x0 = make_maps(BATCH)
    t = torch.rand(BATCH) * 0.9
    logits = model(corrupt(x0, t), t)
    loss = F.cross_entropy(logits, x0[:, 0])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.4f}")

torch.manual_seed(1)
with torch.no_grad():
    x0 = make_maps(200)
    t = torch.full((200,), 0.4)
    xt = corrupt(x0, t)
    logits = model(xt, t)
    acc = (logits.argmax(1) == x0[:, 0]).float().mean().item()
    noisy = (xt == x0).float().mean().item()
print(f"loss {F.cross_entropy(logits, x0[:, 0]).item():.4f}  accuracy {acc:.4f}  accuracy of the noisy input {noisy:.4f}")
