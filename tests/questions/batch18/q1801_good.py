import torch

torch.manual_seed(0)

A = torch.tensor([[-249.69, -4.1511], [-4.1511, -0.20755]])
B = torch.tensor([0.0, 10.0])
solved = torch.linalg.lstsq(A, B.unsqueeze(1)).solution.squeeze(1)


def forward(x):
    return (A @ x - B).pow(2).sum()


x = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = forward(x)
    loss.backward()
    return loss


for step in range(20001):
    loss = optimizer.step(closure)
    if step % 4000 == 0:
        print(step, f"loss {loss.item():.4f}")

print("found", [round(v, 2) for v in x.tolist()], "lstsq", [round(v, 2) for v in solved.tolist()])
