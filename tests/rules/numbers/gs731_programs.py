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


def bad_skip_is_taken_behind_the_block() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv1d(4, 4, 3, padding=1), nn.Conv1d(4, 4, 3, padding=1)

        def forward(self, beat: torch.Tensor) -> torch.Tensor:
            beat = self.second(torch.relu(self.first(beat)))  # cause: GS731
            skip = beat
            return torch.relu(torch.add(beat, skip))  # effect: GS731

    torch.manual_seed(0)
    stem, block, head = nn.Conv1d(1, 4, 3), Block(), nn.Conv1d(4, 1, 1)
    opt = torch.optim.SGD([*stem.parameters(), *block.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        head(block(stem(torch.randn(6, 1, 12)))).pow(2).mean().backward()
        opt.step()


def bad_doubled_in_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        h = stem(torch.randn(8, 3))
        h = inner(torch.tanh(h))  # cause: GS731
        h += h  # effect: GS731
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()


def good_skip_that_a_further_layer_may_change() -> None:
    """Both names are one tensor only where there are no further layers."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    further: list[nn.Linear] = []
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        h = torch.tanh(inner(stem(torch.randn(8, 3))))
        skip = h
        for layer in further:
            h = layer(h)
        h = torch.add(h, skip)
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()


def good_skip_before_the_block() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        h = stem(torch.randn(8, 3))
        skip = h
        h = torch.tanh(inner(h))
        h = torch.add(h, skip)
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()
