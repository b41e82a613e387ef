import torch

torch.manual_seed(4)


def angular(x, w):
    xlen = x.pow(2).sum(1).pow(0.5).view(-1, 1)
    wlen = w.pow(2).sum(0).pow(0.5).view(1, -1)
    cos_theta = (x.mm(w) / xlen / wlen).clamp(-1, 1)
    cos_2_theta = torch.cos(2 * cos_theta.acos())
    return cos_2_theta * xlen


direction = torch.linspace(0, 3.1, 64)
x = torch.stack([direction.cos(), direction.sin()], 1) * torch.rand(64, 1).add(0.5)
y = angular(x, torch.tensor([[1.0, 0.0], [0.0, 1.0]]))

w = torch.tensor([[1.0, -0.6], [0.5, 1.0]], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.05)
for step in range(1500):
    optimizer.zero_grad()
    loss = (angular(x, w) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
    if step % 150 == 0:
        print(f"step {step} loss {loss.item():.6f} grad {w.grad.norm().item():.6f}")
print("w", w.tolist())
