"""More programs of GS347: each bad one is reported at its marks, each good one by no rule."""


def good_counted_twice_on_purpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(4, 1)
    opt = torch.optim.SGD(body.parameters(), lr=0.01)
    for _ in range(8):
        error = body(torch.randn(8, 4)).sub(1).pow(2).mean()
        size = body.weight.pow(2).sum()
        doubled = error + error
        opt.zero_grad()
        (doubled + 0.1 * size).backward()
        opt.step()


def bad_added_to_the_sum_that_it_began() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    picture = nn.Parameter(torch.randn(4, 8))
    opt = torch.optim.Adam([picture], lr=0.1)
    wanted, shown = torch.randn(4, 4), torch.randn(4, 8)
    for _ in range(8):
        style = (picture @ picture.T - wanted).pow(2).mean()
        content = (picture - shown).pow(2).mean()
        loss = style
        loss += style  # cause: GS347
        opt.zero_grad()
        loss.backward()  # effect: GS347
        opt.step()
    print(content.item() > 0)


def bad_weighted_the_second_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(4)
    body, policy, critic = nn.Linear(5, 8), nn.Linear(8, 3), nn.Linear(8, 1)
    parts = nn.ModuleList([body, policy, critic])
    opt = torch.optim.Adam(parts.parameters(), lr=5e-3)
    weight = 0.5
    for _ in range(8):
        hidden = torch.tanh(body(torch.randn(16, 5)))
        drawn = torch.distributions.Categorical(logits=policy(hidden))
        value, returns = critic(hidden).squeeze(-1), torch.randn(16)
        advantage = (returns - value).detach()
        policy_loss = -(drawn.log_prob(drawn.sample()) * advantage).mean()
        value_loss = nn.functional.mse_loss(value, returns)
        loss = policy_loss + weight * policy_loss - 0.01 * drawn.entropy().mean()  # cause: GS347
        opt.zero_grad()
        loss.backward()  # effect: GS347
        opt.step()
    print(value_loss.item() > 0)


def good_weighted_beside_a_number_to_look_at() -> None:
    import torch
    from torch import nn

    torch.manual_seed(4)
    body = nn.Linear(5, 1)
    opt = torch.optim.Adam(body.parameters(), lr=5e-3)
    weight = 0.5
    for _ in range(8):
        x = torch.randn(16, 5)
        error = body(x).squeeze(-1) - x[:, 0]
        fit = error.pow(2).mean()
        shown = error.abs().mean()
        loss = fit + weight * fit
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(shown.item() > 0)


def bad_twice_in_a_stack() -> None:
    import torch
    from torch import nn

    torch.manual_seed(40)
    enc, dec = nn.Linear(15, 8), nn.Linear(4, 15)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=5e-3)
    for _ in range(8):
        counts = torch.poisson(torch.rand(32, 15) * 4)
        mu, logvar = enc(torch.log1p(counts)).chunk(2, -1)
        out = dec(mu + torch.randn_like(mu) * (0.5 * logvar).exp())
        fit = nn.functional.poisson_nll_loss(out, counts)
        spread = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(-1).mean()
        loss = torch.stack([fit, fit]).sum()  # cause: GS347
        opt.zero_grad()
        loss.backward()  # effect: GS347
        opt.step()
    print(spread.item())


def bad_twice_in_a_list() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    picture = nn.Parameter(torch.randn(4, 8))
    opt = torch.optim.Adam([picture], lr=0.1)
    wanted, shown = torch.randn(4, 4), torch.randn(4, 8)
    for _ in range(8):
        style = (picture @ picture.T - wanted).pow(2).mean()
        content = (picture - shown).pow(2).mean()
        loss = sum([style, style])  # cause: GS347
        opt.zero_grad()
        loss.backward()  # effect: GS347
        opt.step()
    print(content.item() > 0)


def good_stacked_terms() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(5, 1)
    opt = torch.optim.Adam(body.parameters(), lr=5e-3)
    for _ in range(8):
        x = torch.randn(16, 5)
        error = body(x).squeeze(-1) - x[:, 0]
        fit, size = error.pow(2).mean(), body.weight.pow(2).sum()
        shown = error.abs().mean()
        terms = [fit, 0.1 * size, 0.1 * size]
        loss = torch.stack(terms).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(shown.item() > 0)
