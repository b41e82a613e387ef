import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class EarlyStopping:
    def __init__(self, patience=12, min_delta=0.0, restore_best_weights=True):
        self.patience = patience
        self.min_delta = min_delta
        self.restore_best_weights = restore_best_weights
        self.best = float("inf")
        self.best_epoch = 0
        self.wait = 0
        self.state_dict = None
        self.stop_training = False

    def on_epoch_end(self, epoch, current, model):
        if current + self.min_delta < self.best:
            self.best = current
            self.best_epoch = epoch
            self.wait = 0
            if self.restore_best_weights:
                self.state_dict = model.state_dict()
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stop_training = True

    def on_train_end(self, model):
        if self.restore_best_weights and self.state_dict is not None:
            model.load_state_dict(self.state_dict)


class Trainer:
    def __init__(self, model, callback):
        self.model = model
        self.callback = callback
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def fit(self, train_loader, x_valid, y_valid, n_epochs=60):
        for epoch in range(1, n_epochs + 1):
            self.model.train()
            for x, y in train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            self.callback.on_epoch_end(epoch, self.validate(x_valid, y_valid), self.model)
            if self.callback.stop_training:
                break
        self.callback.on_train_end(self.model)
        return epoch

    @torch.no_grad()
    def validate(self, x, y):
        self.model.eval()
        return self.criterion(self.model(x), y).item()


def main():
    centers = 0.5 * torch.randn(3, 30)
    y = torch.randint(0, 3, (600,))
    x = centers[y] + 1.5 * torch.randn(600, 30)
    train_loader = DataLoader(TensorDataset(x[:200], y[:200]), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 3))
    stopping = EarlyStopping()
    trainer = Trainer(model, stopping)
    last = trainer.fit(train_loader, x[200:], y[200:])
    print(f"stopped at epoch {last}; best validation loss {stopping.best:.4f} at epoch {stopping.best_epoch}")
    print(f"validation loss of the restored model {trainer.validate(x[200:], y[200:]):.4f}")


if __name__ == "__main__":
    main()
