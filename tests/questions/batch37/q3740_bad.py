import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
w_source, w_target = torch.randn(16, 4), torch.randn(16, 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.source_head = nn.Linear(64, 4)
        self.target_head = nn.Linear(64, 2)


def make_loader(n, w):
    x = torch.randn(n, 16)
    return DataLoader(TensorDataset(x, (x @ w).argmax(1)), batch_size=50, shuffle=True)


source_train, source_test = make_loader(3000, w_source), make_loader(600, w_source)
target_train, target_test = make_loader(600, w_target), make_loader(600, w_target)
net = Net()
criterion = nn.CrossEntropyLoss()


def fit(head, loader, optimizer, epochs):
    for _ in range(epochs):
        net.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(head(net.backbone(x)), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(head, loader):
    net.eval()
    return sum((head(net.backbone(x)).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


pre_params = list(net.backbone.parameters()) + list(net.source_head.parameters())
fit(net.source_head, source_train, torch.optim.Adam(pre_params, lr=2e-3), 8)
print(f"source acc after pretraining {accuracy(net.source_head, source_test):.3f}")

for param in net.backbone.parameters():
    param.require_grad = False

before = [p.detach().clone() for p in net.backbone.parameters()]
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
loss = fit(net.target_head, target_train, optimizer, 20)
drift = sum((p - q).norm().item() for p, q in zip(net.backbone.parameters(), before))
print(f"target loss {loss:.3f} target acc {accuracy(net.target_head, target_test):.3f}")
print(f"source acc now {accuracy(net.source_head, source_test):.3f} backbone drift {drift:.3f}")
