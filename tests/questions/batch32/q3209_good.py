import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PreActBlock(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.relu = nn.ReLU()

    def forward(self, x):
        identity = x
        out = self.relu(x)
        out = self.conv1(out)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        out = out + identity
        return out


class IResNet(nn.Module):
    def __init__(self, width=12, blocks=2):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.body = nn.Sequential(*[PreActBlock(width) for _ in range(blocks)])
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        return self.head(self.body(self.stem(x)))


def images(n):
    x = torch.randn(n, 1, 10, 10)
    y = 2.0 * x + 0.3 * torch.sin(3 * x)
    return x, y


def main():
    model = IResNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x, y = images(512)
    tx, ty = images(128)
    for epoch in range(6):
        model.train()
        for i in range(0, 512, 32):
            loss = F.mse_loss(model(x[i : i + 32]), y[i : i + 32])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} train {loss.item():.4f} test {F.mse_loss(model(tx), ty):.4f}")
    block = model.body[0].eval()
    features = model.stem(tx[:4]).detach()
    before = features.clone()
    block(features)
    print("negative inputs of the first block", (before < 0).float().mean().item())
    print("changed by the call", (features != before).float().mean().item())


if __name__ == "__main__":
    main()
