"""More programs of GS203: each bad one is reported at its marks, each good one by no rule."""


def bad_two_optimizers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt_trunk.zero_grad()  # cause: GS203
        loss = head(trunk(torch.randn(8, 3))).pow(2).mean()
        loss.backward()
        opt_trunk.step()
        opt_head.step()  # effect: GS203


def good_both_cleared() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt_trunk.zero_grad()
        opt_head.zero_grad()
        head(trunk(torch.randn(8, 3))).pow(2).mean().backward()
        opt_trunk.step()
        opt_head.step()


def bad_gradients_lent_to_a_shared_network() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    shared, local = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(4):
        local.load_state_dict(shared.state_dict())
        loss = local(torch.randn(16, 4)).pow(2).mean()
        opt.zero_grad()  # cause: GS203
        loss.backward()
        for mine, theirs in zip(local.parameters(), shared.parameters(), strict=True):
            theirs.grad = mine.grad.clone()
        opt.step()  # effect: GS203


def good_gradients_lent_and_cleared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    shared, local = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(4):
        local.load_state_dict(shared.state_dict())
        loss = local(torch.randn(16, 4)).pow(2).mean()
        opt.zero_grad()
        local.zero_grad()
        loss.backward()
        for mine, theirs in zip(local.parameters(), shared.parameters(), strict=True):
            theirs.grad = mine.grad
        opt.step()


def good_gradients_summed_before_they_are_lent() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    shared, local = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(4):
        local.load_state_dict(shared.state_dict())
        for part in local.parameters():
            part.grad = None
        for _ in range(2):
            (local(torch.randn(16, 4)).pow(2).mean() / 2).backward()
        for mine, theirs in zip(local.parameters(), shared.parameters(), strict=True):
            theirs.grad = mine.grad.detach().clone()
        opt.step()


def good_halves_whose_gradients_a_full_copy_takes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2).bfloat16()
    full = [p.detach().float().requires_grad_() for p in model.parameters()]
    opt = torch.optim.SGD(full, lr=0.1)
    for _ in range(4):
        model.zero_grad()
        model(torch.randn(16, 4).bfloat16()).float().pow(2).mean().backward()
        for half, own in zip(model.parameters(), full, strict=True):
            own.grad = half.grad.float()
        opt.step()
        with torch.no_grad():
            for half, own in zip(model.parameters(), full, strict=True):
                half.copy_(own)


def bad_one_of_a_dict_of_optimizers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    enc, dec = nn.Linear(8, 4), nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 8))
    opts = {"enc": torch.optim.Adam(enc.parameters(), 1e-3), "dec": torch.optim.Adam(dec.parameters(), 1e-3)}
    for _ in range(4):
        x = torch.randn(40, 8)
        mu, lv = enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
        kl = 0.5 * (mu.square() + lv.exp() - lv - 1).sum(1).mean()
        elbo = (dec(z) - x).square().sum(1).mean() + kl
        opts["dec"].zero_grad()  # cause: GS203
        elbo.backward()
        for o in opts.values():
            o.step()  # effect: GS203


def good_each_of_a_dict_of_optimizers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    enc, dec = nn.Linear(8, 2), nn.Linear(2, 8)
    opts = {"enc": torch.optim.Adam(enc.parameters(), 1e-3), "dec": torch.optim.Adam(dec.parameters(), 1e-3)}
    for _ in range(4):
        x = torch.randn(40, 8)
        loss = (dec(enc(x).tanh()) - x).square().sum(1).mean()
        for o in opts.values():
            o.zero_grad()
        loss.backward()
        for o in opts.values():
            o.step()
