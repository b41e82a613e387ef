import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(26)
torch.set_num_threads(1)


class MyModule(nn.Module):
    def __init__(self, dim=6, bases=4, out=3):
        super().__init__()
        params = [torch.randn(dim, dim) for _ in range(bases)]
        self.params = []
        for i, param in enumerate(params):
            self.register_buffer(f'param_{i}', param)
            self.params.append(getattr(self, f'param_{i}'))
        self.fc = nn.Linear(bases * dim, out)

    def forward(self, x):
        feats = []
        for w in [getattr(self, f'param_{i}') for i in range(len(self.params))]:
            feats.append(torch.tanh(x @ w))
        return self.fc(torch.cat(feats, dim=1))


def make_set(n):
    x = torch.randn(n, 6, dtype=torch.float64)
    y = ((x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0).long())
    return TensorDataset(x, y)


train_loader = DataLoader(make_set(600), batch_size=50, shuffle=True)
test_x, test_y = make_set(200).tensors
model = MyModule()
model.double()
print({k: v.dtype for k, v in model.state_dict().items()})
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}  loss {total / len(train_loader):.4f}  test acc {acc:.3f}")
