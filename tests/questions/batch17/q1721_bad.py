import torch
import torch.nn as nn


def make_measurements(a, b, n=100):
    x = torch.linspace(0, 100, n)
    return x, a * x + b + torch.randn(n)


def to_inputs(x):
    return x.unsqueeze(1)


def train(model, inputs, targets, epochs=100):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    loss_function = nn.MSELoss()
    for epoch in range(epochs):
        preds = model(inputs)
        loss = loss_function(preds, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 20 == 0:
            grad_a, grad_b = model.weight.grad.item(), model.bias.grad.item()
            print(
                f"epoch {epoch:3d}: loss {loss.item():10.4f}, grad of weight {grad_a:10.3f}, of bias {grad_b:8.3f}"
            )
    return loss.item()


def main():
    torch.manual_seed(0)
    a, b = 0.7, 9.0
    x, y = make_measurements(a, b)
    model = nn.Linear(1, 1)
    loss = train(model, to_inputs(x), y.unsqueeze(1))
    with torch.no_grad():
        at_0, at_100 = model(to_inputs(torch.tensor([0.0, 100.0]))).flatten().tolist()
    print(f"final loss {loss:.4f} (variance of the noise 1)")
    print(f"slope {(at_100 - at_0) / 100:.4f} (true {a}), intercept {at_0:.4f} (true {b})")


if __name__ == "__main__":
    main()
