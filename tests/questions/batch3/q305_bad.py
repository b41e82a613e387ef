import torch
from torch import nn

torch.manual_seed(2024)


class MaskedMean(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.threshold = nn.Parameter(torch.tensor(2.6))

    def forward(self, points):
        points = points * self.scale
        norms = points.norm(dim=1)
        mask = norms < self.threshold
        return points, norms[mask].mean()


def true_value(points):
    norms = points.norm(dim=1)
    return norms[norms < 1.4].mean()


model = MaskedMean(3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(400):
    points = torch.randn(256, 3)
    raw = points * torch.tensor([0.5, 2.0, 1.5]) + 0.02 * torch.randn(256, 3)
    calibrated, prediction = model(raw)
    masked_loss = (prediction - true_value(points)) ** 2
    loss = (calibrated - points).pow(2).mean() + masked_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(
            f"step {step}: loss {loss.item():.5f} masked {masked_loss.item():.5f} threshold {model.threshold.item():.3f}"
        )
print("threshold", model.threshold.item(), "scale", model.scale.tolist())
