import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class SegmentClassifier(nn.Module):
    def __init__(self, channels=2, width=12, depth=3, classes=5):
        super().__init__()
        sizes = [channels] + [width] * depth
        self.my_modules = nn.ModuleList([nn.Conv1d(sizes[i], sizes[i + 1], 5, padding=2) for i in range(depth)])
        self.act = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for module in self.my_modules:
            x = self.act(module(x))
        return self.head(self.pool(x).flatten(1))


def make_set(count):
    y = torch.randint(0, 5, (count,))
    t = torch.linspace(0, 6.28, 40)
    phase = 6.28 * torch.rand(count, 1)
    x = torch.sin((y + 1).unsqueeze(1) * t + phase)
    x = torch.stack([x, torch.cos((y + 1).unsqueeze(1) * t + phase)], 1)
    return TensorDataset(x + 0.3 * torch.randn(count, 2, 40), y)


def main():
    data = make_set(600)
    model = SegmentClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(8):
        for x, y in DataLoader(data, batch_size=30, shuffle=True):
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 3 == 1:
            print("epoch", epoch, "loss", round(loss.item(), 3))
    with torch.no_grad():
        accuracy = (model(data.tensors[0]).argmax(1) == data.tensors[1]).float().mean().item()
    print("accuracy", round(accuracy, 3), "parameters", sum(p.numel() for p in model.parameters()))


main()
