"""More programs of GS713: each bad one is reported at its marks, each good one by no rule."""


def bad_laplacian_of_a_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 3, requires_grad=True)
        du = torch.autograd.grad(net(2 * x - 1).sum(), x, create_graph=True)[0]
        ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]  # cause: GS713
        laplacian = ddu.sum(-1)  # effect: GS713
        loss = (laplacian - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_inputs_on_their_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x, t = torch.rand(16, 1, requires_grad=True), torch.rand(16, 1, requires_grad=True)
        u = net(torch.cat([x, t], 1))
        u_t = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        loss = (u_t - 0.1 * u_xx).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_columns_that_never_meet() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = (nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)) for _ in range(2))
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()])
    for _ in range(3):
        x = torch.rand(16, 2, requires_grad=True)
        u = one(x[:, :1]) + two(x[:, 1:])  # no mixed derivatives
        du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        ddu = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)[0]
        loss = (ddu[:, 0] + ddu[:, 1] - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_product_with_a_vector() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 3, requires_grad=True)
        du = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        sign = torch.randint(0, 2, x.shape) * 2.0 - 1
        product = torch.autograd.grad(du, x, sign, create_graph=True)[0]
        trace = (product * sign).sum(-1)  # an estimate of the Laplacian
        loss = (trace - 1).pow(2).mean() + du.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_curvature_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 3, requires_grad=True)
        u = net(x)
        du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        along = torch.autograd.grad(du.sum(), x, create_graph=True)[0]  # the Hessian times a vector of ones
        loss = u.mean() + along.norm(dim=-1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
