import torch
import torch.nn as nn
import torch.nn.functional as F

QMIN, QMAX = -1, 1


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > low) & (x < high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad, torch.zeros_like(grad)), None, None


def fake_quantize(w):
    scale = w.detach().abs().mean(dim=1, keepdim=True).clamp(min=1e-6)
    q = Clip.apply(Round.apply(w / scale), QMIN, QMAX)
    return q * scale


class QuantLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, fake_quantize(self.weight), self.bias)


def make_data(n, generator):
    x = torch.randn(n, 20, generator=generator)
    w1 = torch.randn(20, 12, generator=torch.Generator().manual_seed(3))
    y = (torch.tanh(x @ w1).sum(1) > 0).long()
    return x, y


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    x, y = make_data(3000, generator)
    x_test, y_test = make_data(1000, generator)
    model = nn.Sequential(QuantLinear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), QuantLinear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(25):
        model.train()
        for rows in torch.randperm(len(x)).split(100):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 6 == 0:
            w = model[0].weight
            moving = (w.grad != 0).float().mean().item()
            model.eval()
            with torch.no_grad():
                acc = (model(x_test).argmax(1) == y_test).float().mean().item()
            print(f"epoch {epoch}: loss {loss.item():.4f}  accuracy {acc:.3f}  weights with a gradient {moving:.0%}")


if __name__ == "__main__":
    main()
