"""More programs of GS731: each bad one is reported at its marks, each good one by no rule."""


def bad_first_of_a_tuple() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, attention, head = nn.Linear(3, 4), nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*embed.parameters(), *attention.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = embed(torch.randn(6, 5, 3))
        x, _weights = attention(x, x, x)  # cause: GS731
        x = x + x  # effect: GS731
        opt.zero_grad()
        head(x).pow(2).mean().backward()
        opt.step()


def good_doubled() -> None:
    """Doubled where the input has gone on by itself, or has another shape."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = stem(torch.randn(8, 3))
        x = x + x
        kept = x
        x = inner(x)
        x = x + x
        opt.zero_grad()
        head(x + kept).pow(2).mean().backward()
        opt.step()
