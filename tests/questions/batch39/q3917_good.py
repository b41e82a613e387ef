import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width, classes=6):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.neck = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        feat = self.neck(self.stem(x))
        return self.head(feat.mean((2, 3))), feat


class FeatureLoss(nn.Module):
    def __init__(self, channels_s, channels_t):
        super().__init__()
        self.align_module = nn.Conv2d(channels_s, channels_t, kernel_size=1)
        self.norm = nn.BatchNorm2d(channels_t, affine=False)

    def forward(self, y_s, y_t):
        return F.mse_loss(self.norm(self.align_module(y_s)), self.norm(y_t.detach()))


class Trainer:
    def __init__(self, model, teacher, channels, lr=2e-3):
        self.model, self.distillation = model, teacher.eval()
        self.d_loss = FeatureLoss(*channels)
        self.optimizer = self.build_optimizer(self.model, lr)

    def build_optimizer(self, model, lr):
        g = [], []
        for name, p in model.named_parameters():
            g[1 if name.endswith("bias") else 0].append(p)
        optimizer = torch.optim.AdamW(g[1], lr=lr, weight_decay=0.0)
        optimizer.add_param_group({"params": g[0], "weight_decay": 1e-3})
        optimizer.add_param_group({"params": list(self.d_loss.parameters()), "weight_decay": 1e-3})
        return optimizer

    def train(self, loader, epochs):
        for epoch in range(epochs):
            sums = [0.0, 0.0]
            for img, cls in loader:
                pred, feat = self.model(img)
                with torch.no_grad():
                    _, feat_t = self.distillation(img)
                loss, d_loss = F.cross_entropy(pred, cls), self.d_loss(feat, feat_t)
                self.optimizer.zero_grad()
                (loss + 2.0 * d_loss).backward()
                self.optimizer.step()
                sums = [sums[0] + loss.item() / len(loader), sums[1] + d_loss.item() / len(loader)]
            print(f"epoch {epoch} cls_loss {sums[0]:.4f} d_loss {sums[1]:.4f}")


def make(n, g):
    y = torch.randint(0, 6, (n,), generator=g)
    r, c = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    angle = y.float() * 3.1416 / 6
    phase = 6.28 * torch.rand(n, 1, 1, generator=g)
    wave = torch.sin(1.4 * (torch.cos(angle)[:, None, None] * r + torch.sin(angle)[:, None, None] * c) + phase)
    return (wave + 0.7 * torch.randn(n, 12, 12, generator=g))[:, None], y


def accuracy(model, x, y):
    with torch.no_grad():
        return 100 * (model(x)[0].argmax(1) == y).float().mean().item()


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
x, y = make(1200, g)
val_x, val_y = make(600, g)
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
teacher = Net(24)
optimizer = torch.optim.AdamW(teacher.parameters(), lr=3e-3)
for epoch in range(8):
    for img, cls in loader:
        loss = F.cross_entropy(teacher(img)[0], cls)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"teacher {accuracy(teacher, val_x, val_y):.1f}")
student = Net(6)
trainer = Trainer(student, teacher, (6, 24))
trainer.train(loader, 10)
print(f"student {accuracy(student, val_x, val_y):.1f}")
