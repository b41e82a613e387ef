"""More programs of GS782: each bad one is reported at its marks, each good one by no rule."""


def bad_terms_with_names() -> None:
    """The weight stands behind the term, and the terms have names of their own."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    beta = 0.25
    encoder, decoder, entries = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), *entries.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        q = entries(torch.cdist(z, entries.weight).argmin(1))
        first = nn.functional.mse_loss(z, q.detach())
        second = nn.functional.mse_loss(q, z.detach())
        codes = second * beta + first  # cause: GS782
        loss = nn.functional.mse_loss(decoder(z + (q - z).detach()), x) + codes
        opt.zero_grad()
        loss.backward()  # effect: GS782
        opt.step()


def bad_entries_by_a_product() -> None:
    """The entries are taken by rows of zeros and a one, out of a parameter, and the sum has three terms."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, entries = nn.Linear(6, 4), nn.Linear(4, 6), nn.Parameter(torch.randn(8, 4))
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), entries], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        nearest = (z.detach()[:, None] - entries.detach()).pow(2).sum(-1).argmin(1)
        q = nn.functional.one_hot(nearest, 8).float() @ entries
        near = ((q.detach() - z) ** 2).mean()
        loss = (decoder(z + (q - z).detach()) - x).pow(2).mean() + near
        loss = loss + 0.1 * ((q - z.detach()) ** 2).mean()  # cause: GS782
        opt.zero_grad()
        loss.backward()  # effect: GS782
        opt.step()


def good_codebook_of_averages() -> None:
    """The entries follow by averages; only the encoder's term is part of the loss."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, entries = nn.Linear(6, 4), nn.Linear(4, 6), torch.randn(8, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        nearest = torch.cdist(z.detach(), entries).argmin(1)
        q = entries[nearest]
        loss = 0.25 * (q - z).pow(2).mean() + (decoder(z + (q - z).detach()) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for entry in nearest.unique():
            entries[entry] = 0.9 * entries[entry] + 0.1 * z.detach()[nearest == entry].mean(0)


def good_weights_of_both_terms() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, entries = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), *entries.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        q = entries(torch.cdist(z, entries.weight).argmin(1))
        codes = 0.5 * (q.detach() - z).pow(2).mean() + 0.25 * (q - z.detach()).pow(2).mean()
        loss = codes + (decoder(z + (q - z).detach()) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_centres_of_clusters() -> None:
    """No choice stands in for what the encoder gave: the centres are drawn along slowly, on purpose."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, centres = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), *centres.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        c = centres(torch.cdist(z, centres.weight).argmin(1))
        pulled = (c.detach() - z).pow(2).mean() + 0.1 * (c - z.detach()).pow(2).mean()
        opt.zero_grad()
        (pulled + (decoder(z) - x).pow(2).mean()).backward()
        opt.step()


def good_two_sides_of_a_divergence() -> None:
    """A prior is drawn to a posterior more strongly than that to it, and the choice is a straight-through sample."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    posterior, prior, decoder = nn.Linear(6, 4), nn.Linear(3, 4), nn.Linear(4, 6)
    opt = torch.optim.SGD([p for m in (posterior, prior, decoder) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        x, before = torch.randn(16, 6), torch.randn(16, 3)
        a, b = posterior(x).softmax(-1), prior(before).softmax(-1)
        sample = nn.functional.one_hot(a.argmax(-1), 4) + a - a.detach()
        balanced = (b - a.detach()).pow(2).mean() + 0.1 * (a - b.detach()).pow(2).mean()
        opt.zero_grad()
        (balanced + (decoder(sample) - x).pow(2).mean()).backward()
        opt.step()


def good_larger_weight_of_the_codebook() -> None:
    """The same as a small one of the commitment, in other words."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, entries = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), *entries.parameters()], lr=0.02)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        q = entries(torch.cdist(z, entries.weight).argmin(1))
        codes = (q.detach() - z).pow(2).mean() + 4 * (q - z.detach()).pow(2).mean()
        loss = codes + (decoder(z + (q - z).detach()) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
