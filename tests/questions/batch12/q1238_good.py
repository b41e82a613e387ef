import numpy as np
import torch

x = np.linspace(-10, 10, 100)
y = x**3 + x**2 + x
loss_fn = torch.nn.MSELoss(reduction="sum")


def get_weights(i, o, rng):
    return torch.tensor(rng.normal(0, 3, (o, i))).requires_grad_()


def apply_step(weights, bias, params, trgts, lr):
    preds = weights @ params + bias
    loss = loss_fn(preds, trgts)
    loss.backward()
    with torch.no_grad():
        weights -= weights.grad * lr
        bias -= bias.grad * lr
        weights.grad.zero_()
        bias.grad.zero_()
    return loss.item()


def main():
    rng = np.random.default_rng(0)
    params, trgts = torch.tensor(y[:80]), torch.tensor(y[80:])
    weights = get_weights(80, 20, rng)
    bias = torch.zeros(20, dtype=torch.float64, requires_grad=True)
    lr = 1e-7
    for i in range(10):
        loss = apply_step(weights, bias, params, trgts, lr)
        print(f"{i}: {loss:.6g}")
    with torch.no_grad():
        guess = weights @ params + bias
        print("first forecasts", [round(v, 1) for v in guess[:3].tolist()], "instead of", [round(v, 1) for v in trgts[:3].tolist()])


if __name__ == "__main__":
    main()
