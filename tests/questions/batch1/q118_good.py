import torch


def fit(x, y, steps):
    weights = torch.randn(2, 1, requires_grad=True)
    bias = torch.randn(1, requires_grad=True)
    optimizer = torch.optim.Adam([weights, bias], lr=0.05)
    history = []
    for i in range(steps):
        out = x.mm(weights).add(bias).view(-1)
        loss = torch.mean((out - y) ** 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        if i % 400 == 0:
            print(f"step {i} loss {loss.item():.5f}")
    return weights, bias, history


torch.manual_seed(0)
x = torch.tensor([[1, 2.0], [1, 3.0], [1, 7.0], [1, 9.0]])
y = torch.tensor([2.0, 3.0, 7.0, 9.0])
weights, bias, history = fit(x, y, 2000)
print("final loss", history[-1])
print("weights", weights.flatten().tolist(), "bias", bias.item())
