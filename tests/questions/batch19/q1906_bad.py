import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE, BLOCK, RATIO = 24, 4, 0.5


def make_scans(n, gen):
    ys, xs = torch.meshgrid(torch.linspace(0, 1, SIZE), torch.linspace(0, 1, SIZE), indexing="ij")
    fx, fy, phase = torch.rand(3, n, 1, 1, generator=gen)
    wave = torch.sin(6.28 * (1.5 * fx * xs + 1.5 * fy * ys + phase))
    return (wave + 0.05 * torch.randn(n, SIZE, SIZE, generator=gen))[:, None]


class BlockMask:
    def __init__(self, ratio, gen):
        self.ratio, self.gen = ratio, gen

    def __call__(self, x):
        cells = SIZE // BLOCK
        keep = torch.rand(len(x), 1, cells, cells, generator=self.gen) >= self.ratio
        mask = keep.repeat_interleave(BLOCK, 2).repeat_interleave(BLOCK, 3)
        return x * mask, mask


class Reconstructor(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.down1 = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.down2 = nn.Conv2d(width, width * 2, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(width * 2, width * 2, 3, padding=2, dilation=2)
        self.up1 = nn.ConvTranspose2d(width * 2, width, 2, stride=2)
        self.up2 = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.out = nn.Conv2d(width + 1, 1, 3, padding=1)

    def forward(self, x):
        h = F.gelu(self.down1(x))
        h = F.gelu(self.down2(h))
        h = h + F.gelu(self.mid(h))
        h = F.gelu(self.up1(h))
        h = F.gelu(self.up2(h))
        return self.out(torch.cat([h, x], 1))


class Pretrainer:
    def __init__(self, model, masked_only=True):
        self.model = model
        self.masked_only = masked_only
        self.loss_fn = nn.MSELoss()

    def rec_loss(self, pred, y, mask=None):
        if mask is not None and self.masked_only:
            pred, y = pred.clone(), y.clone()
            pred[~mask] = 0
            y[~mask] = 0
        return self.loss_fn(pred, y)

    def training_step(self, y, masker):
        x, mask = masker(y)
        return self.rec_loss(self.model(x), y, mask)


gen = torch.Generator().manual_seed(4)
train = make_scans(600, gen)
val = make_scans(200, gen)
masker = BlockMask(RATIO, gen)
model = Reconstructor()
trainer = Pretrainer(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(len(train), generator=gen).split(30):
        loss = trainer.training_step(train[idx], masker)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {total / 20:.5f}")

with torch.no_grad():
    x, mask = masker(val)
    pred = model(x)
hidden = ~mask
print("mse on hidden blocks", round(F.mse_loss(pred[hidden], val[hidden]).item(), 4),
      "variance there", round(val[hidden].var().item(), 4))
