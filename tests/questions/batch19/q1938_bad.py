import math
import torch
import torch.nn as nn

torch.manual_seed(0)
NU = 0.1


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, x, t):
        return self.body(torch.cat([x, t], dim=1))


def exact(x, t):
    return torch.exp(-NU * math.pi ** 2 * t) * torch.sin(math.pi * x)


def derivatives(u, x, t):
    ones = torch.ones_like(u)
    u_x = torch.autograd.grad(u, x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
    u_xx = torch.autograd.grad(u, x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
    u_t = torch.autograd.grad(u, t, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
    return u_x, u_xx, u_t


model = Net()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=600, gamma=0.5)

for step in range(2000):
    x = torch.rand(256, 1, requires_grad=True)
    t = torch.rand(256, 1, requires_grad=True)
    u = model(x, t)
    u_x, u_xx, u_t = derivatives(u, x, t)
    loss_pde = (u_t - NU * u_xx).pow(2).mean()

    x0 = torch.rand(64, 1)
    loss_ic = (model(x0, torch.zeros_like(x0)) - torch.sin(math.pi * x0)).pow(2).mean()

    tb = torch.rand(64, 1)
    left = model(torch.zeros_like(tb), tb)
    right = model(torch.ones_like(tb), tb)
    loss_bc = left.pow(2).mean() + right.pow(2).mean()

    loss = loss_pde + 10 * loss_ic + loss_bc
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 400 == 0:
        print(f"step {step} pde {loss_pde.item():.4f} ic {loss_ic.item():.4f} bc {loss_bc.item():.4f}")

with torch.no_grad():
    gx, gt = torch.meshgrid(torch.linspace(0, 1, 51), torch.linspace(0, 1, 51), indexing="ij")
    gx, gt = gx.reshape(-1, 1), gt.reshape(-1, 1)
    ref = exact(gx, gt)
    pred = model(gx, gt)
    rel = ((pred - ref).norm() / ref.norm()).item()
    mid = model(torch.tensor([[0.5]]), torch.tensor([[1.0]])).item()
print(f"final loss {loss.item():.5f}  relative L2 error {rel:.4f}  u(0.5,1) {mid:.4f} exact {math.exp(-NU * math.pi ** 2):.4f}")
