import torch
from torch import nn

torch.manual_seed(0)
N = 100


class MyModel(nn.Module):
    def __init__(self, W):
        super().__init__()
        self.W = W

    def forward(self, x):
        return torch.sigmoid(torch.matmul(x, self.W.T))


x = torch.rand(1000, N)
W_true = torch.randn(N, N)
y = torch.sigmoid(x @ W_true.T)

W = nn.Parameter(torch.randn(N, N))
model = MyModel(W)
optimizer = torch.optim.SGD(model.parameters(), lr=100)
loss = nn.MSELoss()

for epoch in range(500):
    y_pred = model(x)
    l = loss(y_pred, y)
    optimizer.zero_grad()
    l.backward()
    optimizer.step()
    if (epoch + 1) % 125 == 0:
        print(f"epoch {epoch + 1}: loss {l.item():.5f} largest gradient {W.grad.abs().max().item():.2e}")

with torch.no_grad():
    x_test = torch.rand(500, N)
    error = (model(x_test) - torch.sigmoid(x_test @ W_true.T)).abs().mean()
    distance = (W - W_true).norm() / W_true.norm()
print(f"mean error of y {error.item():.4f}, relative distance to the true matrix {distance.item():.3f}")
