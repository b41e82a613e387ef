import torch
from torch import nn

torch.manual_seed(0)


class TabularNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(n_features, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 1)

    def forward(self, x):
        return self.head(self.backbone(x)).squeeze(-1)


def make_data(n):
    x = torch.randn(n, 8)
    y = x[:, 0] * x[:, 1] + x[:, 2]
    spoiled = torch.rand(n) < 0.01
    y[spoiled] = y[spoiled] + 60 * torch.randn(int(spoiled.sum()))
    return x, y


gradient_clipping_norm = 1.0
x_train, y_train = make_data(4000)
x_val = torch.randn(1000, 8)
y_val = x_val[:, 0] * x_val[:, 1] + x_val[:, 2]
model = TabularNet(8)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(1, 11):
    model.train()
    largest = 0.0
    for idx in torch.randperm(4000).split(64):
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        loss.backward()
        if gradient_clipping_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping_norm)
        optimizer.step()
        largest = max(largest, loss.item())
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(x_val), y_val).item()
    print(f"epoch {epoch}: largest training loss {largest:.1f}, validation {val:.4f}")
