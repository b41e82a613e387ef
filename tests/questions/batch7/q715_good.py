import torch
from torch import nn

torch.manual_seed(0)


class MetaOptimizer(nn.Module):
    def __init__(self, num_layers=2, hidden_size=10):
        super().__init__()
        self.hidden_size = hidden_size
        self.linear1 = nn.Linear(2, hidden_size)
        self.lstms = nn.ModuleList()
        for _ in range(num_layers):
            self.lstms.append(nn.LSTMCell(hidden_size, hidden_size))
        self.linear2 = nn.Linear(hidden_size, 1)
        self.linear2.weight.data.mul_(0.1)
        self.linear2.bias.data.fill_(0.0)

    def reset_lstm(self, n):
        self.state = [
            (torch.zeros(n, self.hidden_size), torch.zeros(n, self.hidden_size)) for _ in self.lstms
        ]

    def forward(self, grad):
        flat = grad.reshape(-1, 1)
        x = torch.cat([torch.sign(flat), torch.log1p(flat.abs())], dim=1)
        x = torch.tanh(self.linear1(x))
        for i, cell in enumerate(self.lstms):
            self.state[i] = cell(x, self.state[i])
            x = self.state[i][0]
        return 0.3 * self.linear2(x).view_as(grad)


class Quadratic:
    def __init__(self, batch=16, dim=4):
        self.w = torch.randn(batch, dim, dim) / dim**0.5
        self.y = torch.randn(batch, dim, 1)

    def loss(self, theta):
        return (self.w @ theta - self.y).pow(2).sum((1, 2)).mean()


def unroll(meta_optimizer, problem, steps):
    theta = torch.zeros(16, 4, 1)
    meta_optimizer.reset_lstm(theta.numel())
    losses = []
    for _ in range(steps):
        inner = theta.detach().requires_grad_()
        grad = torch.autograd.grad(16 * problem.loss(inner), inner)[0]
        theta = theta - meta_optimizer(grad)
        losses.append(problem.loss(theta))
    return torch.stack(losses)


def main():
    meta_optimizer = MetaOptimizer()
    optimizer = torch.optim.Adam(meta_optimizer.parameters(), lr=5e-3)
    for epoch in range(1, 101):
        losses = unroll(meta_optimizer, Quadratic(), steps=15)
        optimizer.zero_grad()
        losses.mean().backward()
        nn.utils.clip_grad_norm_(meta_optimizer.parameters(), 1.0)
        optimizer.step()
        if epoch % 25 == 0:
            print(f"epoch {epoch}: first {losses[0].item():.4f} final {losses[-1].item():.4f}")


if __name__ == "__main__":
    main()
