import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset


class BaseTrainer:
    def __init__(self, model, optimizer, scheduler, criterion):
        self.model, self.optimizer, self.scheduler, self.criterion = model, optimizer, scheduler, criterion
        self.rates = []

    def train_step(self, data, targets):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(data), targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def train_epoch(self, train_loader):
        self.model.train()
        loss_sum = 0.0
        for data, targets in train_loader:
            loss_sum += self.train_step(data, targets) * len(data)
            self.rates.append(self.optimizer.param_groups[0]["lr"])
        self.scheduler.step()
        return loss_sum / len(train_loader.dataset)

    def evaluate(self, data, targets):
        self.model.eval()
        with torch.no_grad():
            outputs = self.model(data)
        return self.criterion(outputs, targets).item(), (outputs.argmax(1) == targets).float().mean().item()


def make_table(count, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 16, generator=generator)
    teacher = torch.Generator().manual_seed(99)
    hidden = torch.tanh(x @ torch.randn(16, 12, generator=teacher))
    y = (
        hidden @ torch.randn(12, 4, generator=teacher) + 0.3 * torch.randn(count, 4, generator=generator)
    ).argmax(1)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = make_table(2000, seed=1)
    test_x, test_y = make_table(1000, seed=2)
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=10, T_mult=1, eta_min=1e-4)
    trainer = BaseTrainer(model, optimizer, scheduler, nn.CrossEntropyLoss())
    for epoch in range(10):
        start = len(trainer.rates)
        loss = trainer.train_epoch(loader)
        rates = trainer.rates[start:]
        test_loss, accuracy = trainer.evaluate(test_x, test_y)
        print(
            f"epoch {epoch}: lr first {rates[0]:.4f} middle {rates[len(rates) // 2]:.4f} last {rates[-1]:.4f}"
            f"  train {loss:.4f}  test {test_loss:.4f}  accuracy {accuracy:.3f}"
        )


if __name__ == "__main__":
    main()
