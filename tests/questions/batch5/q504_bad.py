import torch
from torch import nn

torch.manual_seed(3)


class Thresholded(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.threshold = nn.Parameter(torch.zeros(1))
        self.alpha = 10.0
        self.out = nn.Linear(features, 1)

    def forward(self, x):
        mask = (x > self.threshold).float()
        return self.out(x * mask)


def make_data(n):
    x = torch.randn(n, 6)
    kept = x * (x > 0.7)
    y = kept @ torch.tensor([[1.0], [-2.0], [0.5], [1.5], [-1.0], [2.0]])
    return x, y


data_array, target = make_data(2000)
model = Thresholded(6)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 31):
    total = 0.0
    for idx in torch.randperm(2000).split(100):
        optimizer.zero_grad()
        loss = criterion(model(data_array[idx]), target[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {total / 20:.4f}, threshold {model.threshold.item():.4f}")
