import torch
import torch.nn as nn
import torch.nn.functional as F


class SGDW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0.0, weight_decay=0.0, nesterov=False):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr, momentum, weight_decay = group["lr"], group["momentum"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                d_p = p.grad
                if momentum != 0:
                    state = self.state[p]
                    if "momentum_buffer" not in state:
                        state["momentum_buffer"] = d_p.clone()
                    else:
                        state["momentum_buffer"].mul_(momentum).add_(d_p)
                    buf = state["momentum_buffer"]
                    d_p = d_p.add(buf, alpha=momentum) if group["nesterov"] else buf
                p.add_(d_p, alpha=-lr)
                if weight_decay != 0:
                    p.sub_(weight_decay * lr)
        return loss


def make_data(n, prototypes, spread=1.4):
    y = torch.randint(len(prototypes), (n,))
    return prototypes[y] + spread * torch.randn(n, prototypes.shape[1]), y


def accuracy(net, x, y):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    prototypes = torch.randn(10, 24)
    x_train, y_train = make_data(1500, prototypes)
    x_test, y_test = make_data(2000, prototypes)
    net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 10))
    optimizer = SGDW(net.parameters(), lr=0.05, momentum=0.9, weight_decay=0.03)
    for epoch in range(1, 41):
        for rows in torch.randperm(len(x_train)).split(50):
            loss = F.cross_entropy(net(x_train[rows]), y_train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0:
            flat = torch.cat([p.detach().flatten() for p in net.parameters()])
            print(
                f"epoch {epoch:2d}: loss {loss.item():.3f}  mean weight {flat.mean():+.3f}  "
                f"norm {flat.norm():6.2f}  test accuracy {accuracy(net, x_test, y_test):.3f}"
            )


if __name__ == "__main__":
    main()
