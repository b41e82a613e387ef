import torch
import torch.nn as nn
import torch.nn.functional as F


class LookSAM(torch.optim.Optimizer):
    def __init__(self, k, alpha, model, base_optimizer, criterion, rho=0.05, **kwargs):
        self.model, self.criterion = model, criterion
        self.k, self.alpha = k, alpha
        super().__init__(model.parameters(), dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    def grad_norm(self):
        grads = [p.grad.norm() for group in self.param_groups for p in group["params"]]
        return torch.stack(grads).norm()

    def step(self, t, samples, targets):
        group = self.param_groups[0]
        if t % self.k == 0:
            scale = group["rho"] / (self.grad_norm() + 1e-8)
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                self.state[p]["old_grad"] = p.grad.clone()
                with torch.no_grad():
                    p.add_(p.grad * scale)
            with torch.enable_grad():
                self.criterion(self.model(samples), targets).backward()
        norm = self.grad_norm()
        for p in group["params"]:
            if t % self.k == 0:
                g, g_s = self.state[p]["old_grad"], p.grad
                unit = g / (g.norm() + 1e-8)
                self.state[p]["gv"] = g_s - (g_s * unit).sum() * unit
                p.data.copy_(self.state[p]["old_p"])
            else:
                gv = self.state[p]["gv"]
                p.grad.add_(gv * (p.grad.norm() / (gv.norm() + 1e-8) * self.alpha))
        self.base_optimizer.step()
        self.base_optimizer.zero_grad()
        return norm.item()


def make_data(n, prototypes):
    y = torch.randint(len(prototypes), (n,))
    return prototypes[y] + 1.2 * torch.randn(n, prototypes.shape[1]), y


def main():
    torch.manual_seed(0)
    prototypes = torch.randn(10, 30)
    x_train, y_train = make_data(2000, prototypes)
    x_test, y_test = make_data(2000, prototypes)
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    criterion = nn.CrossEntropyLoss()
    optimizer = LookSAM(5, 0.7, model, torch.optim.SGD, criterion, rho=0.05, lr=0.1, momentum=0.9)
    t = 0
    for epoch in range(1, 13):
        sharp, plain = [], []
        for rows in torch.randperm(len(x_train)).split(50):
            loss = criterion(model(x_train[rows]), y_train[rows])
            loss.backward()
            (plain if t % 5 else sharp).append(optimizer.step(t, x_train[rows], y_train[rows]))
            t += 1
        if epoch % 2 == 0:
            with torch.no_grad():
                accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
                train_loss = F.cross_entropy(model(x_train), y_train).item()
            print(
                f"epoch {epoch:2d}: train loss {train_loss:.4f}  gradient norm: sharp steps {sum(sharp) / len(sharp):.3f}, "
                f"others {sum(plain) / len(plain):.3f}  test accuracy {accuracy:.3f}"
            )


if __name__ == "__main__":
    main()
