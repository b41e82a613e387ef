import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
BITS, FRACTION = 8, 7


def make_data(n, gen):
    centres = torch.randn(10, 3, 24, generator=torch.Generator().manual_seed(7))
    y = torch.randint(0, 10, (n,), generator=gen)
    mode = torch.randint(0, 3, (n,), generator=gen)
    x = centres[y, mode] + 0.6 * torch.randn(n, 24, generator=gen)
    return x, y


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(24, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def quantise_tensor(w, bits=BITS, fraction=FRACTION):
    top = 2 ** (bits - 1) - 1
    scale = 2.0 ** -fraction
    return torch.round(w / scale).clamp(-top, top) * scale


@torch.no_grad()
def quantise_model(model):
    for p in model.parameters():
        if p.dim() > 1:
            p.copy_(quantise_tensor(p))


@torch.no_grad()
def load_weights(model, values):
    for p, v in zip(model.parameters(), values):
        p.copy_(v)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


gen = torch.Generator().manual_seed(1)
x_train, y_train = make_data(6000, gen)
x_test, y_test = make_data(2000, gen)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)

model = SmallNet()
quantise_model(model)
start = [p.clone() for p in model.parameters() if p.dim() > 1]
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for epoch in range(12):
    total = 0.0
    for xb, yb in loader:
        full = [p.detach().clone() for p in model.parameters()]
        quantise_model(model)
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        load_weights(model, full)
        optimizer.step()
        total += loss.item() * len(xb)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(x_train):.4f}")

quantise_model(model)
now = [p for p in model.parameters() if p.dim() > 1]
moved = [((a - b).norm() / b.norm()).item() for a, b in zip(now, start)]
print("relative change of the weight matrices:", [round(m, 3) for m in moved])
print(f"train accuracy {accuracy(model, x_train, y_train):.3f}")
print(f"test accuracy  {accuracy(model, x_test, y_test):.3f}")
