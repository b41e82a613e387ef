import torch
from torch import nn

torch.manual_seed(0)


class HappyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.classifier = nn.Linear(32, 3)

    def forward(self, x):
        return self.classifier(self.features(x))


CENTERS = torch.randn(3, 64) * 0.5


def faces(n):
    y = torch.randint(0, 3, (n,))
    return (CENTERS[y] + 0.5 * torch.randn(n, 64)).relu(), y


def run_epoch(model, optimizer, criterion, batches):
    total = 0.0
    for _ in range(batches):
        x, y = faces(64)
        optimizer.zero_grad()
        loss = criterion(model(x.half()).float(), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / batches


def main():
    model = HappyNet().half()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(5):
        print(epoch, f"loss {run_epoch(model, optimizer, criterion, 20):.4f}")
    with torch.no_grad():
        x, y = faces(1000)
        print(f"accuracy {(model(x.half()).argmax(1) == y).float().mean().item():.3f}")


main()
