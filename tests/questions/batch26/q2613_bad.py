import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)


class Model(nn.Module):
    def __init__(self, input_size, H1, output_size):
        super().__init__()
        self.linear = nn.Linear(input_size, H1)
        self.linear2 = nn.Linear(H1, output_size)

    def forward(self, x):
        x = torch.sigmoid(self.linear(x))
        return torch.sigmoid(self.linear2(x))

    def predict(self, x):
        return (self.forward(x) >= 0.5).float()


def heart_records(n):
    rate = rng.normal(128.0, 14.0, n)
    pressure = rng.normal(182.0, 21.0, n)
    r = ((rate - 128.0) / 14.0) ** 2 + ((pressure - 182.0) / 21.0) ** 2
    label = (r < 1.4).astype(np.float32)
    data = np.stack([rate, pressure], axis=1).astype(np.float32)
    return torch.from_numpy(data), torch.from_numpy(label).unsqueeze(1)


x_train, y_train = heart_records(1200)
x_test, y_test = heart_records(600)

model = Model(2, 8, 1)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

losses = []
for epoch in range(3000):
    y_pred = model(x_train)
    loss = criterion(y_pred, y_train)
    losses.append(loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 500 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

with torch.no_grad():
    train_acc = (model.predict(x_train) == y_train).float().mean().item()
    test_acc = (model.predict(x_test) == y_test).float().mean().item()
print(f"final loss {losses[-1]:.4f}")
print(f"train accuracy {train_acc:.3f} test accuracy {test_acc:.3f}")
