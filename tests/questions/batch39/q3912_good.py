import torch
import torch.nn as nn
import torch.nn.functional as F
SHIFT, SCALE = torch.tensor([0.62, 0.55, 0.48]).view(1, 3, 1, 1), torch.tensor([0.06, 0.05, 0.05]).view(1, 3, 1, 1)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.slice1 = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU())
        self.slice2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(24, 4)

    def forward(self, x):
        h1 = self.slice1(x)
        h2 = self.slice2(h1)
        return [h1, h2], self.fc(h2.mean((2, 3)))


def normalize_tensor(feat, eps=1e-10):
    return feat / (feat.pow(2).sum(1, keepdim=True) + eps).sqrt()


class PNetLin(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        for p in self.net.parameters():
            p.requires_grad = False
        self.register_buffer("shift", SHIFT)
        self.register_buffer("scale", SCALE)
        self.lins = nn.ModuleList([nn.Conv2d(12, 1, 1, bias=False), nn.Conv2d(24, 1, 1, bias=False)])
        for lin in self.lins:
            nn.init.constant_(lin.weight, 0.1)

    def forward(self, in0, in1):
        in0_sc = (in0 - self.shift.expand_as(in0)) / self.scale.expand_as(in0)
        in1_sc = (in1 - self.shift.expand_as(in1)) / self.scale.expand_as(in1)
        outs0, _ = self.net(in0_sc)
        outs1, _ = self.net(in1_sc)
        val = 0.0
        for lin, a, b in zip(self.lins, outs0, outs1):
            val = val + lin((normalize_tensor(a) - normalize_tensor(b)) ** 2).mean((1, 2, 3))
        return val


def textures(n, g):
    y = torch.randint(0, 4, (n,), generator=g)
    r, c = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    waves = torch.stack([torch.sin(1.5 * r), torch.sin(1.5 * c), torch.sin(1.5 * (r + c)), torch.sin(1.5 * (r - c))])
    img = waves[y][:, None] * torch.tensor([1.0, 0.7, -0.5]).view(1, 3, 1, 1) + 0.4 * torch.randn(n, 3, 12, 12, generator=g)
    return img * SCALE + SHIFT, y


def judged(n, g):
    ref, y = textures(n, g)
    far, _ = textures(n, g)
    w0, w1 = torch.rand(n, 1, 1, 1, generator=g), torch.rand(n, 1, 1, 1, generator=g)
    n0, n1 = 0.06 * torch.randn(2, *ref.shape, generator=g)
    p0, p1 = ref + 0.7 * w0 * (far - ref) + n0 * (1 - w0), ref + 0.7 * w1 * (far - ref) + n1 * (1 - w1)
    return ref, p0, p1, (w1 < w0).float().flatten()


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
net = Features()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    x, y = textures(64, g)
    loss = F.cross_entropy(net((x - SHIFT) / SCALE)[1], y)
    opt.zero_grad()
    loss.backward()
    opt.step()

model = PNetLin(net)
opt = torch.optim.Adam(model.lins.parameters(), lr=5e-2)
for step in range(201):
    ref, p0, p1, judge = judged(64, g)
    d0, d1 = model(ref, p0), model(ref, p1)
    loss = F.binary_cross_entropy_with_logits(20 * (d0 - d1), judge)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for lin in model.lins:
        lin.weight.data.clamp_(min=0)
    if step % 100 == 0:
        print(f"step {step} rank loss {loss.item():.4f}")
ref, p0, p1, judge = judged(1000, g)
with torch.no_grad():
    print(f"2AFC score {100 * (((model(ref, p1) < model(ref, p0)).float()) == judge).float().mean():.1f}")
