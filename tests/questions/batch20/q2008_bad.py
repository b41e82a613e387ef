import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
WIDTH, LENGTH, SEEN = 24, 12, 6


def moving_bumps(n):
    pos = torch.rand(n, 1) * WIDTH
    vel = torch.rand(n, 1) * 2.0 - 1.0
    t = torch.arange(LENGTH).float()
    centre = (pos + vel * t) % WIDTH
    grid = torch.arange(WIDTH).float()
    d = (grid[None, None, :] - centre[:, :, None]).abs()
    d = torch.minimum(d, WIDTH - d)
    return torch.exp(-0.5 * (d / 1.5) ** 2)


class STCell(nn.Module):
    def __init__(self, nin, nh):
        super().__init__()
        self.temporal = nn.Linear(nin + nh, 3 * nh)
        self.spatial = nn.Linear(nin + nh, 3 * nh)
        self.out = nn.Linear(nin + 3 * nh, nh)

    def forward(self, x, h, c, m):
        i, f, g = self.temporal(torch.cat([x, h], 1)).chunk(3, 1)
        dc = torch.sigmoid(i) * torch.tanh(g)
        c = torch.sigmoid(f + 1.0) * c + dc
        i, f, g = self.spatial(torch.cat([x, m], 1)).chunk(3, 1)
        dm = torch.sigmoid(i) * torch.tanh(g)
        m = torch.sigmoid(f + 1.0) * m + dm
        o = torch.sigmoid(self.out(torch.cat([x, h, c, m], 1)))
        return o * torch.tanh(c + m), c, m, dc, dm


class Predictor(nn.Module):
    def __init__(self, nh=48, layers=2, beta=0.05):
        super().__init__()
        self.nh, self.layers, self.beta = nh, layers, beta
        self.cells = nn.ModuleList([STCell(WIDTH if k == 0 else nh, nh) for k in range(layers)])
        self.head = nn.Linear(nh, WIDTH)
        self.adapter = nn.Linear(nh, nh, bias=False)

    def forward(self, frames):
        n = frames.shape[0]
        h = [frames.new_zeros(n, self.nh) for _ in range(self.layers)]
        c = [frames.new_zeros(n, self.nh) for _ in range(self.layers)]
        m = frames.new_zeros(n, self.nh)
        outs, similarity = [], []
        x = frames[:, 0]
        for t in range(LENGTH - 1):
            if t < SEEN:
                x = frames[:, t]
            inp = x
            for k, cell in enumerate(self.cells):
                h[k], c[k], m, dc, dm = cell(inp, h[k], c[k], m)
                a = F.normalize(self.adapter(dc), dim=1)
                b = F.normalize(self.adapter(dm), dim=1)
                similarity.append((a * b).sum(1).abs().mean())
                inp = h[k]
            x = self.head(inp)
            outs.append(x)
        decouple = torch.mean(torch.tensor(similarity))
        mse = F.mse_loss(torch.stack(outs, 1), frames[:, 1:])
        return mse, decouple, mse + self.beta * decouple


model = Predictor()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
train = moving_bumps(1024)
for epoch in range(12):
    for idx in torch.randperm(len(train)).split(64):
        opt.zero_grad()
        mse, decouple, loss = model(train[idx])
        loss.backward()
        opt.step()
    print(f"epoch {epoch:2d} mse {mse.item():.4f} decouple {decouple.item():.4f}")

with torch.no_grad():
    mse, decouple, loss = model(moving_bumps(512))
print(f"test mse {mse.item():.4f}  |cos| of the two memories {decouple.item():.4f}")
