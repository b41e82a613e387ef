import contextlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class PreparedOptimizer:
    def __init__(self, optimizer, state):
        self.optimizer, self.state = optimizer, state

    def step(self):
        if self.state["sync"]:
            self.optimizer.step()

    def zero_grad(self):
        if self.state["sync"]:
            self.optimizer.zero_grad()


class Accelerator:
    def __init__(self, gradient_accumulation_steps):
        self.steps = gradient_accumulation_steps
        self.state = {"sync": True, "count": 0}

    def prepare(self, optimizer):
        return PreparedOptimizer(optimizer, self.state)

    @contextlib.contextmanager
    def accumulate(self):
        self.state["count"] += 1
        self.state["sync"] = self.state["count"] % self.steps == 0
        yield

    def backward(self, loss):
        (loss / self.steps).backward()


def make_data(count, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 40, generator=generator)
    weight = torch.randn(40, 5, generator=torch.Generator().manual_seed(7))
    noise = 1.5 * torch.randn(count, 5, generator=generator)
    return x, (x @ weight + noise).argmax(1)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = model(x)
    return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    train_x, train_y = make_data(2048, seed=1)
    test_x, test_y = make_data(1000, seed=2)
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=4, shuffle=True)
    model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
    accelerator = Accelerator(gradient_accumulation_steps=16)
    sgd = torch.optim.SGD(model.parameters(), lr=0.3)
    optimizer = accelerator.prepare(sgd)
    for epoch in range(5):
        model.train()
        total = 0.0
        for x, y in loader:
            with accelerator.accumulate():
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            total += loss.item()
        test_loss, accuracy = evaluate(model, test_x, test_y)
        print(
            f"epoch {epoch}: train {total / len(loader):.4f}  test {test_loss:.4f}  accuracy {accuracy:.3f}"
        )


if __name__ == "__main__":
    main()
