import torch
import torch.nn as nn


class Imputer(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.rnn = nn.GRU(2 * features, hidden, batch_first=True)
        self.out = nn.Linear(hidden, features)

    def forward(self, x, mask):
        h, _ = self.rnn(torch.cat([x * mask, mask], dim=-1))
        return self.out(h)


class BaseNNModel:
    def __init__(self, epochs=25, patience=None, lr=2e-2):
        self.model = Imputer(4, 48)
        self.epochs, self.patience, self.lr = epochs, patience, lr
        self.best_loss, self.best_model_dict, self.best_epoch = float("inf"), None, -1

    def _run(self, x):
        mask = (torch.rand_like(x) > 0.3).float()
        error = (self.model(x, mask) - x) ** 2 * (1 - mask)
        return error.sum() / (1 - mask).sum()

    def _train_model(self, train_set, val_set):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)
        for epoch in range(self.epochs):
            self.model.train()
            for batch in train_set.split(16):
                loss = self._run(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            val_loss = self.evaluate(val_set)
            print(f"epoch {epoch} train {loss.item():.4f} val {val_loss:.4f}")
            if val_loss < self.best_loss:
                self.best_loss, self.best_epoch = val_loss, epoch
                self.best_model_dict = self.model.state_dict()

    def evaluate(self, data):
        self.model.eval()
        generator_state = torch.get_rng_state()
        torch.manual_seed(1)
        with torch.no_grad():
            value = self._run(data).item()
        torch.set_rng_state(generator_state)
        return value

    def fit(self, train_set, val_set):
        self._train_model(train_set, val_set)
        self.model.load_state_dict(self.best_model_dict)
        print(f"best epoch {self.best_epoch}, val loss {self.best_loss:.4f}")


def series(n, noise=0.5):
    t = torch.linspace(0, 6, 20).view(1, 20, 1)
    phase = 6 * torch.rand(n, 1, 4)
    return torch.sin(t + phase) + noise * torch.randn(n, 20, 4)


torch.manual_seed(0)
train_set, val_set = series(32), series(64)
imputer = BaseNNModel()
imputer.fit(train_set, val_set)
print(f"restored model: val loss {imputer.evaluate(val_set):.4f}")
