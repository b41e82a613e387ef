import torch
from torch import nn


class LinearRegressionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(1))
        self.bias = nn.Parameter(torch.randn(1))

    def forward(self, x):
        return self.weights * x + self.bias


class LinearRegressionModelV2(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_layer = nn.Linear(in_features=1, out_features=1)

    def forward(self, x):
        return self.linear_layer(x)


X = torch.arange(0, 1, 0.02).unsqueeze(dim=1)
y = 0.7 * X + 0.3
X_train, y_train, X_test, y_test = X[:40], y[:40], X[40:], y[40:]

torch.manual_seed(42)
model_0 = LinearRegressionModel()
loss_fn = nn.L1Loss()
optimizer = torch.optim.SGD(params=model_0.parameters(), lr=0.01)
for epoch in range(100):
    model_0.train()
    loss = loss_fn(model_0(X_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"model_0 loss {loss.item():.4f}")

torch.manual_seed(42)
model_1 = LinearRegressionModelV2()
loss_fn = nn.L1Loss()
optimizer = torch.optim.SGD(
    params=model_0.parameters(),
    lr=0.01,
)
for epoch in range(200):
    model_1.train()
    loss = loss_fn(model_1(X_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model_1.eval()
    with torch.inference_mode():
        test_loss = loss_fn(model_1(X_test), y_test)
    if epoch % 40 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} test {test_loss.item():.4f}")
