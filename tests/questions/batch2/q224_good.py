import torch

torch.manual_seed(10)
lr = 0.05

x = torch.rand(20, 1) * 10
y = 2 * x + 5 + torch.randn(20, 1)

w = torch.randn(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def get_loss(w, b):
    y_pred = x * w + b
    return (0.5 * (y - y_pred) ** 2).mean()


for iteration in range(300):
    loss = get_loss(w, b)
    loss.backward()
    w.data = w.data - lr * w.grad.data
    b.data = b.data - lr * b.grad.data
    w.grad.data.zero_()
    b.grad.data.zero_()
    if iteration % 20 == 0:
        print(f"iteration {iteration} loss {loss.item():.4f} w {w.item():.3f} b {b.item():.3f}")
