import torch

torch.manual_seed(0)

n = 200
x = torch.randn(n, 3)
true_w = torch.tensor([[1.5], [-2.0], [0.7]])
y = x @ true_w + 0.3 + 0.05 * torch.randn(n, 1)

w = torch.zeros(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.1
batch_size = 50


def predict(inputs):
    return inputs @ w + b


def squared_error(pred, target):
    return ((pred - target) ** 2).mean()


for epoch in range(20):
    order = torch.randperm(n)
    running = 0.0
    for start in range(0, n, batch_size):
        idx = order[start:start + batch_size]
        loss = squared_error(predict(x[idx]), y[idx])
        loss.backward()
        with torch.no_grad():
            w = w - lr * w.grad
            b = b - lr * b.grad
        if w.grad is not None:
            w.grad.zero_()
            b.grad.zero_()
        running += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {running / (n // batch_size):.4f}")

print("weights", w.detach().flatten().tolist(), "bias", b.item())
print(f"final loss {squared_error(predict(x), y).item():.4f}")
