import torch

torch.manual_seed(7)

N = 5
points = torch.rand(N, 3)
D = torch.cdist(points, points)
H = torch.eye(N) - torch.ones(N, N) / N
B = -0.5 * H @ D**2 @ H
step_size = 0.01

U = torch.rand(N, N, requires_grad=True)
s = torch.rand(N).sort(descending=True).values.requires_grad_()
V = torch.rand(N, N, requires_grad=True)

for i in range(5000):
    orthogonal = (U.T @ U - torch.eye(N)).pow(2).sum() + (V.T @ V - torch.eye(N)).pow(2).sum()
    approximation = (U @ torch.diag(s) @ V.T - B).pow(2).sum()
    loss = orthogonal + approximation
    loss.backward()

    U.data -= step_size * U.grad.data
    s.data -= step_size * s.grad.data
    V.data -= step_size * V.grad.data
    U.grad.zero_()
    s.grad.zero_()
    V.grad.zero_()
    if i % 500 == 0:
        print(f"iteration {i} loss {loss.item():.5f}")

print("found  ", [round(v, 3) for v in s.detach().abs().sort(descending=True).values.tolist()])
print("svdvals", [round(v, 3) for v in torch.linalg.svdvals(B).tolist()])
