import torch
import torch.nn.functional as F

torch.manual_seed(0)


class HandMadeNet:
    def __init__(self, sizes, lr):
        self.lr = lr
        self.weights = []
        for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True):
            w = (torch.randn(n_in, n_out) / n_in**0.5).requires_grad_(True)
            b = torch.zeros(n_out, requires_grad=True)
            self.weights += [w, b]

    def predict(self, x):
        last = len(self.weights) // 2 - 1
        for i in range(last + 1):
            x = x @ self.weights[2 * i] + self.weights[2 * i + 1]
            if i < last:
                x = torch.relu(x)
        return x

    def update(self):
        for weight in self.weights:
            weight -= self.lr * weight.grad
            weight.grad.zero_()


x = torch.linspace(-2, 2, 400).unsqueeze(1)
y = torch.sin(2 * x) + 0.05 * torch.randn_like(x)
net = HandMadeNet([1, 32, 32, 1], lr=0.05)
for step in range(1, 1001):
    loss = F.mse_loss(net.predict(x), y)
    loss.backward()
    net.update()
    if step % 200 == 0:
        print(f"step {step}: loss {loss.item():.5f}")
