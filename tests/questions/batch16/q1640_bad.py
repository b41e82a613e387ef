import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class FunLSQ(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, alpha, g, Qn, Qp):
        ctx.save_for_backward(weight, alpha)
        ctx.other = g, Qn, Qp
        return (weight / alpha).round().clamp(Qn, Qp) * alpha

    @staticmethod
    def backward(ctx, grad_weight):
        weight, alpha = ctx.saved_tensors
        g, Qn, Qp = ctx.other
        q_w = weight / alpha
        indicate_small = (q_w < Qn).float()
        indicate_big = (q_w > Qp).float()
        indicate_middle = 1.0 - indicate_small - indicate_big
        inner = indicate_small * Qn + indicate_big * Qp + indicate_middle * (q_w.round() - q_w)
        grad_alpha = (inner * grad_weight * g).sum().view(1)
        return grad_weight, grad_alpha, None, None, None


class ActLSQ(nn.Module):
    def __init__(self, nbits=2):
        super().__init__()
        self.Qn, self.Qp = 0, 2**nbits - 1
        self.alpha = nn.Parameter(torch.tensor([0.5]))

    def forward(self, x):
        g = 1.0 / math.sqrt(x.numel() * self.Qp)
        return FunLSQ.apply(x, self.alpha, g, self.Qn, self.Qp)


class LinearLSQ(nn.Linear):
    def __init__(self, inp, out, nbits=2):
        super().__init__(inp, out)
        self.Qn, self.Qp = -(2 ** (nbits - 1)), 2 ** (nbits - 1) - 1
        self.alpha = nn.Parameter(2 * self.weight.detach().abs().mean().view(1) / math.sqrt(self.Qp))

    def forward(self, x):
        g = 1.0 / math.sqrt(self.weight.numel() * self.Qp)
        return F.linear(x, FunLSQ.apply(self.weight, self.alpha, g, self.Qn, self.Qp), self.bias)


def make_data(n, prototypes):
    y = torch.randint(len(prototypes), (n,))
    return prototypes[y] + 1.3 * torch.randn(n, prototypes.shape[1]), y


def main():
    torch.manual_seed(0)
    prototypes = torch.randn(10, 32)
    x_train, y_train = make_data(3000, prototypes)
    x_test, y_test = make_data(2000, prototypes)
    model = nn.Sequential(
        nn.Linear(32, 96),
        ActLSQ(),
        LinearLSQ(96, 96),
        ActLSQ(),
        LinearLSQ(96, 96),
        ActLSQ(),
        nn.Linear(96, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(1, 17):
        for rows in torch.randperm(len(x_train)).split(50):
            loss = F.cross_entropy(model(x_train[rows]), y_train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            layer = model[4]
            with torch.no_grad():
                accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
                train_loss = F.cross_entropy(model(x_train), y_train).item()
                q_w = layer.weight / layer.alpha
            out = ((q_w < layer.Qn) | (q_w > layer.Qp)).float().mean()
            print(
                f"epoch {epoch:2d}: train loss {train_loss:.4f}  test accuracy {accuracy:.3f}  step sizes of activations "
                f"{[round(model[i].alpha.item(), 3) for i in (1, 3, 5)]}  weights out of range {out:.3f}"
            )


if __name__ == "__main__":
    main()
