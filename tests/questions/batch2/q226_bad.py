import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class FCNNetwork(nn.Module):
    def __init__(self, channels=2):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(channels, 16, 5, padding=2),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Conv1d(16, 16, 3, padding=1),
            nn.BatchNorm1d(16),
            nn.ReLU(),
        )
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.body(x).mean(-1))


class FCNRegressor:
    def __init__(self, num_epochs=15, batch_size=32, lr=5e-3, random_state=0):
        self.num_epochs, self.batch_size, self.lr, self.random_state = (
            num_epochs,
            batch_size,
            lr,
            random_state,
        )

    def _build_dataloader(self, X, y):
        return DataLoader(TensorDataset(X, y), batch_size=self.batch_size, shuffle=True)

    def fit(self, X, y):
        torch.manual_seed(self.random_state)
        self.network = FCNNetwork(X.shape[1])
        self._criterion = nn.MSELoss()
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=self.lr)
        loader = self._build_dataloader(X, y)
        self.network.train()
        for epoch in range(self.num_epochs):
            print(f"epoch {epoch} loss {self._run_epoch(loader):.4f}")
        return self

    def _run_epoch(self, loader):
        losses = []
        for inputs, outputs in loader:
            y_pred = self.network(inputs)
            loss = self._criterion(y_pred, outputs)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def predict(self, X):
        self.network.eval()
        with torch.no_grad():
            return self.network(X).squeeze(-1)


torch.manual_seed(4)
amplitude = torch.rand(320) * 2
X = amplitude.view(-1, 1, 1) * torch.sin(torch.linspace(0, 12, 40)).view(1, 1, -1) + 0.1 * torch.randn(
    320, 2, 40
)
reg = FCNRegressor().fit(X[:256], amplitude[:256])
residual = (reg.predict(X[256:]) - amplitude[256:]).pow(2).mean()
print(f"test mse {residual:.4f} (variance {amplitude.var():.4f})")
