import torch
import torch.nn as nn

torch.manual_seed(0)


class GatedBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.to_candidate = nn.Sequential(nn.Linear(dim, dim), nn.SiLU())
        self.to_update_gate = nn.Sequential(nn.Linear(dim, dim), nn.Sigmoid())

    def forward(self, x):
        residual = x
        x = self.norm(x)
        update_gate = self.to_update_gate(x)
        return update_gate * self.to_candidate(x) + (1 - update_gate) * residual


class SignalModel(nn.Module):
    def __init__(self, n_in=12, dim=32, depth=3):
        super().__init__()
        self.stem = nn.Linear(n_in, dim, bias=False)
        self.blocks = nn.ModuleList([GatedBlock(dim) for _ in range(depth)])
        self.head = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(1)


def make_data(n):
    amplitude = torch.rand(n, 1) * 3
    x = amplitude * torch.randn(n, 12)
    return x, amplitude.squeeze(1) + 0.2 * torch.sign(x[:, 0])


x_train, y_train = make_data(2000)
x_test, y_test = make_data(400)
model = SignalModel()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(25):
    model.train()
    perm = torch.randperm(2000)
    total = 0.0
    for i in range(0, 2000, 50):
        idx = perm[i:i + 50]
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            test = criterion(model(x_test), y_test).item()
        print(f"epoch {epoch + 1}: train {total / 40:.4f} test {test:.4f} target var {y_test.var().item():.3f}")
