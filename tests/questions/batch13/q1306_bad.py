import torch
import torch.nn as nn
import torch.nn.functional as F


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 16, generator=g)
    y = (x[:, :3].sum(1) > 0).long() + 2 * (x[:, 3] + x[:, 4] * x[:, 5] > 0).long()
    return x, y


def main():
    torch.manual_seed(0)
    x, y = make_data(1000, 0)
    model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    epsilon, alpha, attack_iters = 1.5, 0.4, 15
    for _ in range(40):
        for rows in torch.randperm(len(x)).split(100):
            loss = criterion(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    for epoch in range(6):
        found = wrong = 0.0
        for rows in torch.randperm(len(x)).split(100):
            xb, yb = x[rows], y[rows]
            delta = torch.zeros_like(xb).uniform_(-epsilon, epsilon)
            for _ in range(attack_iters):
                delta.requires_grad = True
                output = model(xb + delta)
                loss = criterion(output, yb)
                opt.zero_grad()
                (now,) = torch.autograd.grad(loss, delta, retain_graph=True)
                loss.backward()
                grad = delta.grad.detach().clone()
                delta.data = torch.clamp(delta + alpha * torch.sign(grad), -epsilon, epsilon)
            wrong += (now.sign() != grad.sign()).float().mean().item() / 10
            delta = delta.detach()
            loss = criterion(model(xb + delta), yb)
            opt.zero_grad()
            loss.backward()
            found += loss.item() / 10
            opt.step()
        print(
            f"epoch {epoch}: loss under the attack {found:.3f}  last step against its gradient in {100 * wrong:.1f} % of the places"
        )


if __name__ == "__main__":
    main()
