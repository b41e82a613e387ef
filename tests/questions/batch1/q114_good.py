import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_data():
    rng = np.random.default_rng(0)
    xtrain = rng.normal(0, 1, size=(2000, 10))
    xval = rng.normal(0, 1, size=(300, 10))
    ytrain = np.sin(xtrain).sum(axis=1)
    yval = np.sin(xval).sum(axis=1)
    low, high = ytrain.min(), ytrain.max()
    scale = [torch.tensor(a, dtype=torch.float32) for a in (xtrain, (ytrain - low) / (high - low))]
    return *scale, torch.tensor(xval, dtype=torch.float32), torch.tensor((yval - low) / (high - low)).float()


class TorchModel(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.hidden = nn.Linear(10, hidden)
        self.output = nn.Linear(hidden, 1)
        for layer in (self.hidden, self.output):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.output(torch.relu(self.hidden(x)))


def fit(model, loader, epochs):
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        total = 0.0
        for xb, yb in loader:
            prediction = model(xb)
            loss = loss_fn(prediction, yb.unsqueeze(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 4 == 0:
            print(f"epoch {epoch} mse {total / len(loader):.5f}")


torch.manual_seed(0)
xtrain, ytrain, xval, yval = get_data()
model = TorchModel()
fit(model, DataLoader(TensorDataset(xtrain, ytrain), batch_size=32, shuffle=True), epochs=20)
with torch.no_grad():
    print("validation mse", (model(xval).squeeze(1) - yval).pow(2).mean().item())
