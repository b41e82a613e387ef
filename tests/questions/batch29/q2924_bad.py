import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(25)
torch.set_num_threads(1)


def objective(X):
    return torch.exp(-((X - torch.tensor([0.3, 0.7])) ** 2).sum(-1) / 0.1) + 0.1 * torch.sin(6 * X[..., 0])


train_X = torch.rand(60, 2)
train_Y = objective(train_X) + 0.01 * torch.randn(60)

surrogate = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


def featurize(X):
    inputValues = X.detach().numpy()
    a, b = inputValues[..., 0], inputValues[..., 1]
    feats = np.stack([a, b, a * b, a ** 2 + b ** 2], axis=-1)
    return torch.tensor(feats, dtype=torch.float32)


optimizer = torch.optim.Adam(surrogate.parameters(), lr=1e-2)
for epoch in range(300):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(surrogate(featurize(train_X)).squeeze(-1), train_Y)
    loss.backward()
    optimizer.step()
    if epoch % 100 == 99:
        print(f"fit {epoch + 1}  mse {loss.item():.5f}")

for p in surrogate.parameters():
    p.requires_grad_(False)


class CustomAcquisition(nn.Module):
    def __init__(self, model, beta=0.05):
        super().__init__()
        self.model, self.beta = model, beta

    def forward(self, X):
        mean = self.model(featurize(X)).squeeze(-1)
        return mean - self.beta * ((featurize(X) - 0.5) ** 2).sum(-1)


acq = CustomAcquisition(surrogate)
candidates = torch.rand(8, 2, requires_grad=True)
opt = torch.optim.Adam([candidates], lr=0.05)
for step in range(60):
    opt.zero_grad()
    loss = -acq(candidates).sum()
    loss.backward()
    opt.step()
    with torch.no_grad():
        candidates.clamp_(0, 1)
    if step % 20 == 19:
        print(f"gen {step + 1}  acq {-loss.item() / 8:.4f}")
best = candidates[acq(candidates).argmax()].detach()
print("best candidate", [round(v, 3) for v in best.tolist()], "value", round(objective(best).item(), 3))
