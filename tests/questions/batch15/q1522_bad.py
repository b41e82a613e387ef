import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EdgeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(1, affine=False)
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(self.bn(x).flatten(1)).squeeze(1)


def make_pairs(count, seed):
    generator = torch.Generator().manual_seed(seed)
    rising = torch.randint(2, (count,), generator=generator).float()
    left = 1.0 - rising + 0.02 * torch.randn(count, generator=generator)
    right = rising + 0.02 * torch.randn(count, generator=generator)
    pairs = torch.stack([left, right], dim=1).view(count, 1, 1, 2)
    return pairs, 4 * rising - 2


def mean_loss(model, loader, criterion):
    with torch.no_grad():
        losses = [criterion(model(x), y).item() for x, y in loader]
    return sum(losses) / len(losses)


def main():
    torch.manual_seed(0)
    x, y = make_pairs(256, seed=1)
    loader = DataLoader(TensorDataset(x, y), batch_size=1, shuffle=True)
    model = EdgeNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.01)
    for epoch in range(6):
        model.train()
        total = 0.0
        for pair, target in loader:
            loss = criterion(model(pair), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        same = mean_loss(model, loader, criterion)
        print(
            f"epoch {epoch}: train() loss {total / len(loader):.4f}  eval() loss on the same pairs {same:.4f}"
        )
    print(f"running mean {model.bn.running_mean.item():.3f}  running var {model.bn.running_var.item():.3f}")
    print(f"mean of the pixels {x.mean().item():.3f}  variance of the pixels {x.var().item():.3f}")
    with torch.no_grad():
        print("eval() predictions", model(x[:6]).round(decimals=2).tolist(), "targets", y[:6].tolist())


if __name__ == "__main__":
    main()
