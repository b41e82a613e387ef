"""More programs of GS330: each bad one is reported at its marks, each good one by no rule."""


def bad_result_detached_before() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    g, d = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_g = torch.optim.Adam(g.parameters(), lr=0.01)
    opt_d = torch.optim.Adam(d.parameters(), lr=0.01)
    bce = nn.BCEWithLogitsLoss()
    one, zero = torch.ones(8, 1), torch.zeros(8, 1)
    for _ in range(5):
        x = torch.randn(8, 3)
        made = g(x)
        fake = made.detach()  # cause: GS330
        opt_d.zero_grad()
        (bce(d(x + 2), one) + bce(d(fake), zero)).backward()
        opt_d.step()
        opt_g.zero_grad()
        bce(d(fake), one).backward()  # effect: GS330
        (10 * (made - x).abs().mean()).backward()
        opt_g.step()


def good_norm_of_a_loss_that_is_only_looked_at() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    g, d = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_g = torch.optim.SGD(g.parameters(), lr=0.01)
    opt_d = torch.optim.SGD(d.parameters(), lr=0.01)
    for _ in range(5):
        opt_d.zero_grad()
        (d(g(torch.randn(8, 3)).detach()).mean() - d(torch.randn(8, 3) + 2).mean()).backward()
        opt_d.step()
        opt_g.zero_grad()
        (-d(g(torch.randn(8, 3))).mean()).backward()
        opt_g.step()


def good_critic_that_is_stepped_later() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    opt_a = torch.optim.SGD(actor.parameters(), lr=0.01)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.01)
    for _ in range(5):
        s = torch.randn(8, 3)
        action = actor(s)
        opt_c.zero_grad()
        (critic(torch.cat([s, action.detach()], 1)) - torch.randn(8, 1)).pow(2).mean().backward()
        opt_a.zero_grad()
        (action.pow(2).mean() - action.mean()).backward()
        opt_a.step()
        opt_c.step()
