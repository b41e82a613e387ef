import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Args:
    lr = 0.15
    epochs = 9
    momentum = 0.9


def adjust_learning_rate(optimizer, epoch):
    lr = Args.lr * (0.1 ** (epoch // 3))
    for param_group in optimizer.state_dict()["param_groups"]:
        param_group["lr"] = lr


def images(n):
    centers = torch.randn(8, 20, generator=torch.Generator().manual_seed(1)) * 0.7
    y = torch.randint(0, 8, (n,))
    return centers[y] + torch.randn(n, 20), y


def train(loader, model, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item() * 100


def main():
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), Args.lr, momentum=Args.momentum, weight_decay=1e-4)
    loader = DataLoader(TensorDataset(*images(640)), batch_size=16, shuffle=True)
    xv, yv = images(1000)
    for epoch in range(Args.epochs):
        adjust_learning_rate(optimizer, epoch)
        loss = train(loader, model, criterion, optimizer)
        print(f"epoch {epoch} lr {optimizer.param_groups[0]['lr']:.4f} loss {loss:.4f} prec@1 {validate(model, xv, yv):.1f}")


main()
