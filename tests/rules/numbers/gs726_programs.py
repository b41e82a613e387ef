"""More programs of GS726: each bad one is reported at its marks, each good one by no rule."""


def bad_sum_of_the_outputs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        t = torch.rand(16, 1, requires_grad=True)
        state = net(t)
        rate = torch.autograd.grad(state.sum(), t, create_graph=True)[0]  # cause: GS726
        right = torch.stack([state[:, 1], -state[:, 0], -state[:, 2]], 1)
        loss = nn.functional.mse_loss(0.1 * rate, right)  # effect: GS726
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_energy_that_is_a_sum() -> None:
    """The sum is what is wanted: one number for each row meets one number for each row."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 1, requires_grad=True)
        parts = net(x)
        force = -torch.autograd.grad(parts, x, torch.ones_like(parts), create_graph=True)[0]
        opt.zero_grad()
        nn.functional.mse_loss(force, torch.sin(x.detach())).backward()
        opt.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        x = torch.rand(16, 4, requires_grad=True)
        score = critic(x)
        (grad,) = torch.autograd.grad(score, x, torch.ones_like(score), create_graph=True)
        opt.zero_grad()
        (score.mean() + (grad.norm(dim=1) - 1).pow(2).mean()).backward()
        opt.step()
