import torch
from torch import nn
from torch.func import functional_call, grad_and_value

torch.manual_seed(0)

LR = 0.1


def make_functional(model):
    params = {name: p.detach().clone() for name, p in model.named_parameters()}

    def fmodel(params, x):
        return functional_call(model, params, (x,))

    return fmodel, params


def opt_step(params, grads):
    with torch.no_grad():
        for name, param in params.items():
            param.add_(grads[name], alpha=-LR)


def batch(n):
    x = torch.randn(n, 3)
    return x, torch.stack([x[:, 0] * 2, x[:, 1] - x[:, 2]], dim=1)


def main():
    model = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
    criterion = nn.MSELoss()
    xt, yt = batch(500)
    print(f"initial loss {criterion(model(xt), yt).item():.4f}")
    fmodel, params = make_functional(model)

    def loss_of(params, x, y):
        return criterion(fmodel(params, x), y)

    step_fn = grad_and_value(loss_of)
    for step in range(200):
        grads, loss = step_fn(params, *batch(64))
        opt_step(params, grads)
        if step % 50 == 0:
            print(step, f"train loss {loss.item():.4f}")
    model.load_state_dict(params)
    with torch.no_grad():
        print(f"final loss {criterion(model(xt), yt).item():.4f}")


main()
