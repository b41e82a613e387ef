import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class RandomCutMix(nn.Module):
    def __init__(self, cut_size=(0.0, 0.6), p=1.0):
        super().__init__()
        self.cut_size = cut_size
        self.p = p

    def generate_parameters(self, input):
        n, _, height, width = input.shape
        ratio = self.cut_size[0] + (self.cut_size[1] - self.cut_size[0]) * torch.rand(n)
        use = (torch.rand(n) < self.p).float()
        h = (height * ratio * use).long()
        w = (width * ratio * use).long()
        y = (torch.rand(n) * (height - h + 1)).long()
        x = (torch.rand(n) * (width - w + 1)).long()
        return {"pairs": torch.randperm(n), "x": x, "y": y, "w": w, "h": h}

    def apply_transform(self, input, params):
        out = input.clone()
        for i, j in enumerate(params["pairs"].tolist()):
            y, x = int(params["y"][i]), int(params["x"][i])
            h, w = int(params["h"][i]), int(params["w"][i])
            out[i, :, y:y + h, x:x + w] = input[j, :, y:y + h, x:x + w]
        return out

    def apply_transform_class(self, input, target, params):
        height, width = input.shape[-2:]
        w, h = params["w"], params["h"]
        lam = w.to(input.dtype) * h.to(input.dtype) / (width * height)
        return target, target[params["pairs"]], lam

    def forward(self, input, target):
        params = self.generate_parameters(input)
        return self.apply_transform(input, params), self.apply_transform_class(input, target, params)


def loss_cutmix(logits, y):
    labels, labels_permuted, lam = y
    loss = F.cross_entropy(logits, labels, reduction="none")
    loss_permuted = F.cross_entropy(logits, labels_permuted, reduction="none")
    return (lam * loss + (1.0 - lam) * loss_permuted).mean()


class ConvNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.body(x).mean((2, 3)))


def make(n, g):
    y = torch.randint(0, 5, (n,), generator=g)
    r, c = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    angle = y.float()[:, None, None] * 3.1416 / 5
    wave = torch.sin(1.3 * (torch.cos(angle) * r + torch.sin(angle) * c) + 6.28 * torch.rand(n, 1, 1, generator=g))
    return (wave + 0.5 * torch.randn(n, 16, 16, generator=g))[:, None], y


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
x, y = make(1500, g)
val_x, val_y = make(500, g)
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
model, cutmix = ConvNet(), RandomCutMix()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    total = 0.0
    for img, label in loader:
        mixed, mixed_label = cutmix(img, label)
        loss = loss_cutmix(model(mixed), mixed_label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        out = model(val_x)
    print(f"epoch {epoch} loss {total / len(loader):.4f} validation loss {F.cross_entropy(out, val_y):.4f} accuracy {100 * (out.argmax(1) == val_y).float().mean():.1f}")
