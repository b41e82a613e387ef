import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class Restorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = double_conv(1, 16)
        self.down = double_conv(16, 24)
        self.up = nn.ConvTranspose2d(24, 16, 2, stride=2)
        self.out = nn.Conv2d(32, 1, 1)

    def features(self, x):
        a = self.inc(x)
        return a, self.down(F.max_pool2d(a, 2))

    def forward(self, x):
        a, b = self.features(x)
        return self.out(torch.cat([a, self.up(b)], dim=1))


class WithProjection(nn.Module):
    def __init__(self, restorer):
        super().__init__()
        self.restorer = restorer
        self.head = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        _, b = self.restorer.features(x)
        return self.head(b.mean(dim=(2, 3)))


def waves(n, gain=1.0, shift=0.0):
    y = torch.randint(0, 4, (n,))
    g = torch.linspace(0, 6.28, 16)
    ang = y.float() * 0.785
    fx, fy = torch.cos(ang), torch.sin(ang)
    ph = torch.rand(n) * 6.28
    img = torch.sin(2 * (fx[:, None, None] * g[None, None] + fy[:, None, None] * g[None, :, None]) + ph[:, None, None])
    return (gain * img + shift).unsqueeze(1), y


clean, _ = waves(768)
noisy = clean + 0.3 * torch.randn_like(clean)
test_clean, _ = waves(256)
test_noisy = test_clean + 0.3 * torch.randn_like(test_clean)

restorer = Restorer()
opt = torch.optim.Adam(restorer.parameters(), lr=2e-3)
for epoch in range(5):
    for i in torch.randperm(768).split(64):
        loss = F.mse_loss(restorer(noisy[i]), clean[i])
        opt.zero_grad()
        loss.backward()
        opt.step()


def restore_error():
    restorer.eval()
    with torch.no_grad():
        return F.mse_loss(restorer(test_noisy), test_clean).item()


before = restore_error()

model = WithProjection(restorer)
for p in model.restorer.parameters():
    p.requires_grad = False
opt2 = torch.optim.Adam(model.head.parameters(), lr=3e-3)
x2, y2 = waves(512, gain=2.5, shift=1.5)
for epoch in range(6):
    model.train()
    for i in torch.randperm(512).split(64):
        loss = F.cross_entropy(model(x2[i]), y2[i])
        opt2.zero_grad()
        loss.backward()
        opt2.step()

print("restoration error before head training %.4f" % before)
print("restoration error after head training  %.4f" % restore_error())
model.eval()
with torch.no_grad():
    print("head accuracy %.3f" % (model(x2).argmax(1) == y2).float().mean().item())
