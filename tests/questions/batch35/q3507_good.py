import torch
from torch import nn
from torch.nn.utils import parametrize


class Positive(nn.Module):
    def forward(self, raw):
        return nn.functional.softplus(raw) / raw.shape[1]


class Siamese(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, 4)
        parametrize.register_parametrization(self.layer, "weight", Positive())

    def branch(self, x):
        for _ in range(3):
            x = torch.tanh(self.layer(x))
        return x

    def forward(self, first, second):
        return self.head(self.branch(first) - self.branch(second))


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()

    def training_step(self, batch):
        first, second, target = batch
        with parametrize.cached():
            pred = self.model(first, second)
        return self.loss_fn(pred, target)

    def fit(self, batches, epochs):
        for epoch in range(epochs):
            total = 0.0
            for batch in batches:
                loss = self.training_step(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(f"epoch {epoch}: loss {total / len(batches):.4f}")


def make_batches(count=8, size=32, dim=10):
    mix = torch.randn(dim, 4)
    batches = []
    for _ in range(count):
        first, second = torch.randn(size, dim), torch.randn(size, dim)
        batches.append((first, second, torch.tanh((first - second) @ mix / 4)))
    return batches


def main():
    torch.manual_seed(0)
    trainer = Trainer(Siamese(), lr=5e-3)
    trainer.fit(make_batches(), epochs=6)


main()
