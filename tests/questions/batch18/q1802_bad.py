import torch

torch.manual_seed(1)


def c_to_f(c):
    return c * 1.8 + 32


celsius = torch.empty(2000).uniform_(-500, 500)
y = c_to_f(celsius) + 0.3 * torch.randn(2000)
scale = 1.0
x = celsius / scale
lr = 5e-6

w = torch.randn(1, requires_grad=True)
b = torch.randn(1, requires_grad=True)


def mse(y_hat, y):
    return ((y_hat - y) ** 2).mean()


for epoch in range(5000):
    loss = mse(w * x + b, y)
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
        w.grad.zero_()
        b.grad.zero_()
    if epoch % 1000 == 0:
        print(f"epoch {epoch} loss {loss.item():.3f} slope {w.item() / scale:.4f} bias {b.item():.4f}")

print(f"F = {w.item() / scale:.3f} * C + {b.item():.3f}")
