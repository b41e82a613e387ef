import torch
from torch import nn


class OptimWrapper:
    def __init__(self, opt, wd, true_wd=True):
        self.opt = opt
        self.wd = wd
        self.true_wd = true_wd

    @property
    def lr(self):
        return self.opt.param_groups[0]["lr"]

    @lr.setter
    def lr(self, value):
        for group in self.opt.param_groups:
            group["lr"] = value

    def step(self):
        if self.true_wd:
            for group in self.opt.param_groups:
                for p in group["params"]:
                    if not p.requires_grad:
                        continue
                    p.data.mul_(1 - self.wd * group["lr"])
        self.opt.step()

    def zero_grad(self):
        self.opt.zero_grad()


class OneCycle:
    def __init__(self, optimizer, total_step, lr_max):
        self.optimizer = optimizer
        self.total_step = total_step
        self.lr_max = lr_max

    def step(self, it):
        up = 0.4 * self.total_step
        share = it / up if it < up else (self.total_step - it) / (self.total_step - up)
        self.optimizer.lr = self.lr_max * (0.1 + 0.9 * share)


class VoxelBackBone8x(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(4, 16, 3, padding=1)
        self.conv2 = nn.Conv1d(16, 16, 3, padding=1)

    def forward(self, x):
        with torch.no_grad():
            x = torch.relu(self.conv1(x))
            return torch.relu(self.conv2(x)).amax(2)


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone_3d = VoxelBackBone8x()
        self.dense_head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        return self.dense_head(self.backbone_3d(x))


def make_batch(shapes, n=64):
    labels = torch.randint(0, len(shapes), (n,))
    return shapes[labels] + 0.7 * torch.randn(n, 4, 20), labels


def main():
    torch.manual_seed(0)
    model = Detector()
    for param in model.backbone_3d.parameters():
        param.requires_grad_(False)
    before = model.backbone_3d.conv1.weight.clone()
    adam = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.99))
    optimizer = OptimWrapper(adam, wd=0.1)
    scheduler = OneCycle(optimizer, total_step=400, lr_max=1e-2)
    shapes = torch.randn(3, 4, 20)
    for it in range(400):
        scheduler.step(it)
        x, y = make_batch(shapes)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 100 == 0:
            print(f"it {it}: loss {loss.item():.4f}")
    after = model.backbone_3d.conv1.weight
    print(f"final loss {loss.item():.4f}, backbone weight {before.norm():.4f} -> {after.norm():.4f}")


main()
