import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)


def make(count):
    x = torch.randn(count, 6)
    flux = x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 1.5, 0.0])
    present = torch.rand(count, 1) < 0.4
    observed = torch.where(present.squeeze(1), flux, 6.0 + 3.0 * torch.randn(count))
    return TensorDataset(x, observed, present.float())


class FluxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, x):
        loc, log_scale = self.body(x).unbind(-1)
        return torch.distributions.Normal(loc, log_scale.clamp(-4, 4).exp())


def gated_nll(dist, observed, gate):
    nll = -dist.log_prob(observed)
    gated = nll * gate.squeeze(-1)
    return gated.sum() / gate.sum()


loader = DataLoader(make(2000), batch_size=50, shuffle=True)
test_x, test_y, test_gate = make(1000).tensors
here = test_gate.squeeze(1) > 0
model = FluxNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 13):
    model.train()
    running = 0.0
    for x, y, gate in loader:
        optimizer.zero_grad()
        loss = gated_nll(model(x), y, gate)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        error = (model(test_x).mean - test_y)[here].abs().mean().item()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {running / len(loader):.4f} error on present sources {error:.4f}")
