import torch


class CurveFit:
    def __init__(self, degree, lr):
        self.degree = degree
        self.lr = lr
        self.coef = torch.rand(degree + 1).requires_grad_()

    def design(self, x):
        return torch.stack([x**k for k in range(self.degree + 1)], dim=1)

    def predict(self, x):
        return self.design(x).mm(self.coef.view(-1, 1)).squeeze(1)

    def loss(self, x, y):
        return ((self.predict(x) - y) ** 2).mean()

    def update(self):
        grad = self.coef.grad
        if grad is None:
            return False
        with torch.no_grad():
            self.coef -= self.lr * grad
        grad.zero_()
        return True


def make_data(n=200):
    x = torch.linspace(-1, 1, n)
    y = 0.5 - 2 * x + 1.5 * x**3 + 0.05 * torch.randn(n)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = make_data()
    fit = CurveFit(degree=3, lr=0.2)
    updates = 0
    for epoch in range(400):
        loss = fit.loss(x, y)
        loss.backward()
        updates += fit.update()
        if epoch % 100 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}, coef.grad {fit.coef.grad}")
    print("updates made:", updates)
    print(f"final loss {fit.loss(x, y).item():.4f}")


main()
