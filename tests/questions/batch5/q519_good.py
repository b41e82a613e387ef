import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
        )

    def forward(self, x):
        return self.layers(x)


def make_data(n):
    x = torch.randn(n, 8)
    score = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * x[:, 3]
    return x, (score > 0).long()


x, y = make_data(2000)
x_test, y_test = make_data(1000)
model = Classifier(8)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(1, 21):
    total = 0.0
    for idx in torch.randperm(2000).split(50):
        loss = criterion(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        with torch.no_grad():
            accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch}: loss {total / 40:.4f}, test accuracy {accuracy:.3f}")
