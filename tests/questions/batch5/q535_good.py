import torch
from torch import nn

torch.manual_seed(0)


class MPNN(nn.Module):
    def __init__(self, n_in, width):
        super().__init__()
        self.message_passing = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width))
        self.bn = nn.BatchNorm1d(width)
        self.predictor = nn.Linear(width, 1)

    def fingerprint(self, x):
        return self.bn(self.message_passing(x))

    def forward(self, x):
        return self.predictor(self.fingerprint(x))


def fit(model, x, y, epochs, lr):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=lr)
    for _ in range(epochs):
        model.train()
        if not model.bn.weight.requires_grad:
            model.bn.eval()
        for idx in torch.randperm(len(x)).split(32):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


def freeze(model):
    model.message_passing.requires_grad_(False)
    model.bn.requires_grad_(False)


large_x = torch.randn(1024, 12)
large_y = large_x[:, :1] * 2 + torch.sin(large_x[:, 1:2] * 2)
small_x = 0.3 * torch.randn(128, 12) + 1.0
small_y = small_x[:, :1] - small_x[:, 2:3]

mpnn = MPNN(12, 64)
print(f"pretraining: loss {fit(mpnn, large_x, large_y, 20, 3e-3):.4f}")
mpnn.eval()
with torch.no_grad():
    before = mpnn.fingerprint(large_x)
freeze(mpnn)
print(f"transfer: loss {fit(mpnn, small_x, small_y, 30, 3e-3):.4f}")
mpnn.eval()
with torch.no_grad():
    change = (mpnn.fingerprint(large_x) - before).abs().max().item()
print(f"largest change of a frozen fingerprint {change:.4f}")
