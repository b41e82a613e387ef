import math

import torch
import torch.nn as nn


def diff(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


class FCNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.NN = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1)
        )

    def forward(self, t):
        return self.NN(t)


class IVP:
    def __init__(self, t_0, u_0, u_0_prime):
        self.t_0, self.u_0, self.u_0_prime = t_0, u_0, u_0_prime

    def enforce(self, net, t):
        decay = 1 - torch.exp(-(t - self.t_0))
        return self.u_0 + decay * self.u_0_prime + decay**2 * net(t)


class Solver1D:
    def __init__(self, ode, condition, t_min, t_max, net, optimizer, n=80):
        self.ode, self.condition, self.net, self.optimizer = ode, condition, net, optimizer
        self.t_min, self.t_max, self.n = t_min, t_max, n
        self.history = []

    def generate(self):
        t = torch.linspace(self.t_min, self.t_max, self.n).view(-1, 1)
        return t.requires_grad_(True)

    def compute_loss(self, t):
        u = self.condition.enforce(self.net, t)
        return (self.ode(u, t) ** 2).mean()

    def run_train_epoch(self):
        t = self.generate()
        self.optimizer.zero_grad()
        loss = self.compute_loss(t)
        loss.backward()

        def closure():
            return loss

        self.optimizer.step(closure)
        self.history.append(loss.item())

    def fit(self, max_epochs):
        for epoch in range(1, max_epochs + 1):
            self.run_train_epoch()
            if epoch % 5 == 0:
                t = self.generate()
                u = self.condition.enforce(self.net, t)
                error = (u - torch.cos(5 * t)).abs().max().item()
                print(
                    f"epoch {epoch:3d}: residual loss {self.history[-1]:.3e}  largest error of u {error:.3e}"
                )


def main():
    torch.manual_seed(0)
    net = FCNN()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=10, history_size=20)
    solver = Solver1D(
        ode=lambda u, t: diff(diff(u, t), t) + 25 * u,
        condition=IVP(t_0=0.0, u_0=1.0, u_0_prime=0.0),
        t_min=0.0,
        t_max=math.pi / 2,
        net=net,
        optimizer=optimizer,
    )
    solver.fit(40)


if __name__ == "__main__":
    main()
