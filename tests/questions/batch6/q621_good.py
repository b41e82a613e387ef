import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class SpringModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.amplitude = nn.Parameter(torch.tensor(1.0))
        self.damping = nn.Parameter(torch.tensor(0.3))
        self.omega = nn.Parameter(torch.tensor(1.6))
        self.phase = nn.Parameter(torch.tensor(0.0))

    def forward(self, t):
        return self.amplitude * torch.exp(-self.damping * t) * torch.cos(self.omega * t + self.phase)


time = torch.linspace(0, 6, 100)
measured = 1.7 * torch.exp(-0.2 * time) * torch.cos(1.9 * time + 0.4) + 0.02 * torch.randn(100)
model = SpringModel()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=10)


def closure():
    optimizer.zero_grad()
    prediction = model(time)
    loss = F.mse_loss(prediction, measured)
    loss.backward()
    return loss


for epoch in range(1, 21):
    loss = optimizer.step(closure)
    if epoch % 4 == 0:
        print(f"epoch {epoch}: loss {loss.item():.5f}, omega {model.omega.item():.3f}")
