"""Blocked local attention with a halo, on a small map: every pixel shall find the marked pixel of its block."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HaloAttention(nn.Module):
    def __init__(self, dim, block_size=4, halo_size=1, dim_head=32):
        super().__init__()
        self.block_size, self.halo_size = block_size, halo_size
        self.scale = dim_head**-0.5
        self.to_q = nn.Linear(dim, dim_head, bias=False)
        self.to_kv = nn.Linear(dim, dim_head * 2, bias=False)
        self.to_out = nn.Linear(dim_head, dim)

    def forward(self, x):
        b, c, h, w = x.shape
        block, halo = self.block_size, self.halo_size
        window = block + 2 * halo
        q_inp = F.unfold(x, kernel_size=block, stride=block)
        n_blocks = q_inp.shape[-1]
        q_inp = q_inp.view(b, c, block**2, n_blocks).permute(0, 3, 2, 1)
        kv_inp = F.unfold(x, kernel_size=window, stride=block, padding=halo)
        kv_inp = kv_inp.view(b, c, window**2, n_blocks).permute(0, 3, 2, 1)

        q = self.to_q(q_inp)
        k, v = self.to_kv(kv_inp).chunk(2, dim=-1)
        sim = torch.matmul(q * self.scale, k.transpose(-1, -2))

        mask = torch.ones(1, 1, h, w)
        mask = F.unfold(mask, kernel_size=window, stride=block, padding=halo)
        mask = mask.permute(0, 2, 1).unsqueeze(2)
        mask = ~mask.bool()
        max_neg_value = -torch.finfo(sim.dtype).max
        sim.masked_fill_(mask, max_neg_value)

        attn = sim.softmax(dim=-1)
        out = self.to_out(torch.matmul(attn, v))
        out = out.permute(0, 3, 2, 1).reshape(b, c * block**2, n_blocks)
        return F.fold(out, (h, w), kernel_size=block, stride=block)


class Net(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, dim, 1), nn.ReLU())
        self.attn = HaloAttention(dim)
        self.head = nn.Sequential(nn.Conv2d(dim, dim, 1), nn.ReLU(), nn.Conv2d(dim, 1, 1))

    def forward(self, x):
        x = self.stem(x)
        return self.head(x + self.attn(x))


def make_batch(n=32):
    x = torch.zeros(n, 2, 8, 8)
    x[:, 1] = torch.randn(n, 8, 8)
    y = torch.zeros(n, 1, 8, 8)
    for i in range(n):
        for r in (0, 4):
            for c in (0, 4):
                dr, dc = torch.randint(1, 3, (2,)).tolist()
                x[i, 0, r + dr, c + dc] = 1.0
                y[i, 0, r : r + 4, c : c + 4] = x[i, 1, r + dr, c + dc]
    return x, y


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(240):
    x, y = make_batch()
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 79:
        print(f"step {step}: mse {loss.item():.4f} (variance of the target {y.var().item():.3f})")
