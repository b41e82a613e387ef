import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden, output_size):
        super().__init__()
        self.linear1 = nn.Linear(input_size, hidden)
        self.linear2 = nn.Linear(hidden, output_size)

    def forward(self, x):
        x = torch.sigmoid(self.linear1(x))
        return torch.sigmoid(self.linear2(x))


def scores(n):
    g = torch.Generator().manual_seed(2)
    points = 92 + 6 * torch.randn(n, 2, generator=g)
    label = (points.sum(1, keepdim=True) > 184).float()
    return points, label


torch.manual_seed(1)
x_data, y_data = scores(400)
model = Model(2, 10, 1)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

for epoch in range(1000):
    y_pred = model(x_data)
    loss = criterion(y_pred, y_data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 200 == 0:
        accuracy = ((y_pred > 0.5).float() == y_data).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.3f}")
