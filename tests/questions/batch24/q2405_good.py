import torch
from torch import nn

torch.manual_seed(21)

rows, cols, rank = 20, 14, 10
block = torch.randn(rows, 4) @ torch.randn(4, cols) + 0.05 * torch.randn(rows, cols)

vert = nn.Parameter(torch.randn(rows, rank) * 0.3)
hori = nn.Parameter(torch.randn(rank, cols) * 0.3)
lr = 5.0


def hypothesis(v, h):
    return torch.matmul(v, h)


def mse(y_hat, y):
    return ((y_hat - y) ** 2).mean()


def update(step):
    loss = mse(hypothesis(vert, hori), block)
    loss.backward()
    if step % 500 == 0:
        print(f"step {step:5d} loss {loss.item():.5f}")
    with torch.no_grad():
        vert.sub_(lr * vert.grad)
        hori.sub_(lr * hori.grad)
        vert.grad.zero_()
        hori.grad.zero_()


for step in range(6001):
    update(step)

with torch.no_grad():
    final = mse(hypothesis(vert, hori), block).item()
print(f"final loss {final:.5f}  variance of the block {block.var().item():.4f}")
