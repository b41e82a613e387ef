import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Dynamics(nn.Module):
    def __init__(self, nx=4, nu=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(nx + nu, 64), nn.Tanh(), nn.Linear(64, nx))

    def forward(self, x, u):
        out = []
        for t in range(u.shape[1]):
            x = x + 0.1 * self.net(torch.cat([x, u[:, t]], 1))
            out.append(x)
        return torch.stack(out, 1)


class Problem(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def step(self, batch, name):
        x0, u, xs = batch
        pred = self.model(x0, u)
        return {
            f"{name}_loss": ((pred - xs) ** 2).mean(),
            f"{name}_final": ((pred[:, -1] - xs[:, -1]) ** 2).mean(),
        }


class Trainer:
    def __init__(self, problem, train_data, dev_data, optimizer, epochs):
        self.problem = problem
        self.train_data = train_data
        self.dev_data = dev_data
        self.optimizer = optimizer
        self.epochs = epochs
        self.history = []

    def train(self):
        for epoch in range(self.epochs):
            self.problem.train()
            losses = []
            for batch in self.train_data:
                output = self.problem.step(batch, "train")
                self.optimizer.zero_grad()
                output["train_loss"].backward()
                self.optimizer.step()
                losses.append(output["train_loss"])
                self.history.append(output)
            mean = torch.mean(torch.stack(losses))
            with torch.no_grad():
                self.problem.eval()
                dev = [self.problem.step(b, "dev")["dev_loss"] for b in self.dev_data]
            print(f"epoch {epoch} train {mean:.5f} dev {torch.stack(dev).mean():.5f}")
        return self.history


def simulate(n, steps=15):
    a = torch.tensor([[0.0, 1, 0, 0], [-1, -0.1, 0.3, 0], [0, 0, 0, 1], [0.3, 0, -1, -0.1]])
    b = torch.tensor([[0.0, 0], [1, 0], [0, 0], [0, 1]])
    x = torch.randn(n, 4)
    u = torch.randn(n, steps, 2)
    x0, xs = x, []
    for t in range(steps):
        x = x + 0.1 * (x @ a.T + u[:, t] @ b.T)
        xs.append(x)
    return TensorDataset(x0, u, torch.stack(xs, 1))


if __name__ == "__main__":
    problem = Problem(Dynamics())
    trainer = Trainer(
        problem,
        DataLoader(simulate(640), batch_size=32, shuffle=True),
        DataLoader(simulate(160), batch_size=80),
        torch.optim.Adam(problem.parameters(), lr=3e-3),
        epochs=8,
    )
    history = trainer.train()
    print("best step", min(float(h["train_final"]) for h in history))
