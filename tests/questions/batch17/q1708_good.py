import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, input, target):
        target = target.view(-1, 1)
        logpt = F.log_softmax(input, dim=1).gather(1, target).view(-1)
        pt = logpt.exp()
        if self.alpha is not None:
            logpt = logpt * self.alpha.gather(0, target.view(-1))
        loss = -1 * (1 - pt) ** self.gamma * logpt
        return loss.mean()


def load_batch(n=256):
    label = (torch.rand(n) < 0.1).long()
    x = torch.randn(n, 10)
    x[:, :2] += label.unsqueeze(1) * 1.2
    return x, label


model = nn.Linear(10, 2)
criterion = FocalLoss(gamma=2.0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(1500):
    x, label = load_batch()
    loss = criterion(model(x), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 300 == 0:
        print(f"step {step + 1}: focal loss {loss.item():.4f}")

x, label = load_batch(20000)
with torch.no_grad():
    print(f"test focal loss {criterion(model(x), label).item():.5f}")

x, label = load_batch(64)
logits = model(x).detach().double().requires_grad_()
(grad,) = torch.autograd.grad(criterion(logits, label), logits)
eps, moved = 1e-6, logits.detach().clone()
moved[:, 1] += eps
with torch.no_grad():
    change = (criterion(moved, label) - criterion(logits, label)).item() / eps
print(
    f"derivative of the loss, all logits of class 1: autograd {grad[:, 1].sum():.6f}, finite difference {change:.6f}"
)
