import torch
import torch.nn as nn

torch.manual_seed(2)
NU, U_MAX, LENGTH = 0.25, 1.0, 2.0


class FlowNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 3),
        )

    def forward(self, xy):
        return self.body(xy)


def grad(f, xy):
    g = torch.autograd.grad(f, xy, torch.ones_like(f), create_graph=True)[0]
    return g[:, 0:1], g[:, 1:2]


def residual_loss(net, xy):
    xy = xy.requires_grad_(True)
    out = net(xy)
    u, v, p = out[:, 0:1], out[:, 1:2], out[:, 2:3]
    u_x, u_y = grad(u, xy)
    v_x, v_y = grad(v, xy)
    p_x, p_y = grad(p, xy)
    u_xx, u_yy = grad(u_x, xy)[0], grad(u_y, xy)[1]
    v_xx, v_yy = grad(v_x, xy)[0], grad(v_y, xy)[1]
    mom_x = u * u_x + v * u_y + p_x - NU * (u_xx + u_yy)
    mom_y = u * v_x + v * v_y + p_y - NU * (v_xx + v_yy)
    mass = u_x + v_y
    return mom_x.pow(2).mean() + mom_y.pow(2).mean() + mass.pow(2).mean()


def inlet_loss(net, n=48):
    y = torch.rand(n, 1)
    out = net(torch.cat([torch.zeros(n, 1), y], 1))
    profile = 4 * U_MAX * y * (1 - y)
    return (out[:, 0:1] - profile).pow(2).mean() + out[:, 1:2].pow(2).mean()


def wall_loss(net, n=64):
    x = LENGTH * torch.rand(n, 1)
    y = (torch.rand(n, 1) < 0.5).float()
    out = net(torch.cat([x, y], 1))
    return out[:, 0:2].pow(2).sum(1).mean()


def outlet_loss(net, n=48):
    y = torch.rand(n, 1)
    out = net(torch.cat([torch.full((n, 1), LENGTH), y], 1))
    p = out[:, 1:2]
    return p.pow(2).mean()


net = FlowNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2000)

for step in range(2000):
    xy = torch.rand(160, 2) * torch.tensor([LENGTH, 1.0])
    pde = residual_loss(net, xy)
    inlet, wall, outlet = inlet_loss(net), wall_loss(net), outlet_loss(net)
    loss = pde + 5 * inlet + 5 * wall + 5 * outlet
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 500 == 0:
        print(f"step {step} pde {pde.item():.5f} inlet {inlet.item():.5f} wall {wall.item():.5f} outlet {outlet.item():.5f}")

with torch.no_grad():
    gx, gy = torch.meshgrid(torch.linspace(0, LENGTH, 41), torch.linspace(0, 1, 21), indexing="ij")
    xy = torch.stack([gx.flatten(), gy.flatten()], 1)
    out = net(xy)
    u_true = 4 * U_MAX * xy[:, 1] * (1 - xy[:, 1])
    p_true = 8 * NU * U_MAX * (LENGTH - xy[:, 0])
    u_err = (out[:, 0] - u_true).norm() / u_true.norm()
    p_err = (out[:, 2] - p_true).norm() / p_true.norm()
print(f"total loss {loss.item():.5f}")
print(f"relative error: velocity {u_err.item():.4f}, pressure {p_err.item():.4f}")
