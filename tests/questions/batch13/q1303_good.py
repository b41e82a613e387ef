import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 24, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(24)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x))).mean((2, 3))


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.fc = nn.Linear(24, classes)

    def forward(self, x):
        return self.fc(self.backbone(x))


def make_data(n, classes, gain, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    grid = torch.linspace(-2, 2, 10)
    rows, cols = torch.meshgrid(grid, grid, indexing="ij")
    waves = torch.stack([torch.sin((k + 1) * rows + (k % 2) * 2 * cols) for k in range(classes)])
    return gain * (waves[y][:, None] + 0.4 * torch.randn(n, 1, 10, 10, generator=g)), y


def run_epoch(model, optimizer, x, y):
    for rows in torch.randperm(len(x)).split(50):
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    pretrained = Classifier(Backbone(), 4)
    optimizer = torch.optim.Adam(pretrained.parameters(), lr=1e-2)
    for _ in range(4):
        run_epoch(pretrained, optimizer, *make_data(400, 4, 1.0, 0))

    x, y = make_data(400, 3, 3.0, 1)
    model = Classifier(pretrained.backbone, 3)
    for p in model.backbone.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.05, momentum=0.9)
    model.eval()
    probe = model.backbone(x[:50])
    before = model.backbone.bn1.running_var.clone()
    for epoch in range(6):
        model.fc.train()
        model.backbone.eval()
        loss = run_epoch(model, optimizer, x, y)
        model.eval()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
            drift = (model.backbone(x[:50]) - probe).abs().mean() / probe.abs().mean()
        change = (model.backbone.bn1.running_var - before).abs().max()
        print(
            f"epoch {epoch}: loss {loss:.3f}  acc {accuracy:.3f}  bn1.running_var moved {change:.3f}, features {drift:.3f}"
        )


if __name__ == "__main__":
    main()
