import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)


class LearnedGroupLinear(nn.Module):
    def __init__(self, in_features, out_features, condense_factor=4, stages=3):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.register_buffer("_mask", torch.ones(out_features, in_features))
        self.drop_per_stage = in_features * (condense_factor - 1) // (condense_factor * stages)
        self.in_features = in_features

    def forward(self, x):
        return F.linear(x, self.linear.weight * self._mask, self.linear.bias)

    @torch.no_grad()
    def drop(self):
        alive = self._mask.sum(0) > 0
        norms = self.linear.weight.abs().sum(0)
        norms[~alive] = float("inf")
        di = norms.sort()[1][:self.drop_per_stage]
        self._mask[:, di] = 0

    def kept(self):
        return int((self._mask.sum(0) > 0).sum())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.condense = LearnedGroupLinear(48, 32)
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(torch.relu(self.condense(x)))


centers = torch.zeros(3, 48)
centers[:, :8] = 1.5 * torch.randn(3, 8)
label = torch.randint(0, 3, (900,))
points = centers[label] + torch.randn(900, 48)
loader = DataLoader(TensorDataset(points[:700], label[:700]), batch_size=50, shuffle=True)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 13):
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch in (3, 6, 9):
        model.condense.drop()
    model.eval()
    with torch.no_grad():
        acc = (model(points[700:]).argmax(1) == label[700:]).float().mean().item()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {running / len(loader):.4f} test accuracy {acc:.3f} "
              f"inputs kept {model.condense.kept()} of {model.condense.in_features}")
