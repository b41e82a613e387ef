import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal


class Rotation(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = orthogonal(nn.Linear(dim, dim))

    def forward(self, x):
        return self.linear(x)


def sgd_update(layer, lr):
    skipped = 0
    with torch.no_grad():
        for tensor in (layer.weight, layer.bias):
            if tensor.grad is None:
                skipped += 1
                continue
            tensor -= lr * tensor.grad
            tensor.grad = None
    return skipped


def make_data(n=256, dim=6):
    q, _ = torch.linalg.qr(torch.randn(dim, dim))
    q[:, 0] *= torch.linalg.det(q).sign()
    x = torch.randn(n, dim)
    shift = 0.5 * torch.randn(dim)
    return x, x @ q.t() + shift


def main():
    torch.manual_seed(3)
    x, y = make_data()
    net = Rotation(x.shape[1])
    loss_fn = nn.MSELoss()
    skipped = 0
    for epoch in range(300):
        loss = loss_fn(net(x), y)
        loss.backward()
        if epoch % 100 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}")
        skipped += sgd_update(net.linear, lr=0.2)
    print(f"final loss {loss_fn(net(x), y).item():.4f}, tensors without gradient: {skipped}")


main()
