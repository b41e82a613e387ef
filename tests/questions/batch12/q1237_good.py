import torch

D_IN, HIDDEN, D_OUT = 300, 100, 5


def houses(n, generator):
    x = torch.randn(n, D_IN, generator=generator)
    truth = torch.randn(D_IN, D_OUT, generator=torch.Generator().manual_seed(2)) / D_IN**0.5
    return x, torch.relu(x @ truth) + 0.05 * torch.randn(n, D_OUT, generator=generator)


def main():
    generator = torch.Generator().manual_seed(0)
    x, y = houses(256, generator)
    w1 = torch.randn(D_IN, HIDDEN, generator=generator) / D_IN**0.5
    w2 = torch.randn(HIDDEN, D_OUT, generator=generator) / HIDDEN**0.5
    w1.requires_grad_()
    w2.requires_grad_()
    learning_rate = 1e-4
    for t in range(501):
        y_pred = x.mm(w1).clamp(min=0).mm(w2)
        loss = (y_pred - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            w1 -= learning_rate * w1.grad
            w2 -= learning_rate * w2.grad
            w1.grad.zero_()
            w2.grad.zero_()
        if t < 4 or t % 100 == 0:
            print(f"{t}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
