import torch
from torch import nn

torch.manual_seed(0)

EPS, STEP = 0.25, 0.3


def blobs(n):
    y = torch.randint(0, 3, (n,))
    centers = torch.tensor([[0.0, 1.0], [1.0, -0.6], [-1.0, -0.6]])
    return centers[y] + 0.25 * torch.randn(n, 2), y


def make_delta(x, eps):
    delta = (torch.rand(x.shape, requires_grad=True) * 2 - 1) * eps
    return delta


def perturb(model, x, y):
    delta = make_delta(x, EPS)
    loss = nn.functional.cross_entropy(model(x + delta), y)
    loss.backward()
    grad = delta.grad
    delta = (delta.detach() + STEP * grad.sign()).clamp(-EPS, EPS)
    return x + delta


def robust_accuracy(model):
    x, y = blobs(500)
    adv = perturb(model, x, y)
    return (model(adv).argmax(1) == y).float().mean().item()


def main():
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(200):
        x, y = blobs(64)
        adv = perturb(model, x, y)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(adv), y)
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(step, f"{loss.item():.4f}")
    print(f"robust accuracy {robust_accuracy(model):.3f}")


main()
