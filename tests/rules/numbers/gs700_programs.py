"""More programs of GS700: each bad one is reported at its marks, each good one by no rule."""


def bad_padding_of_a_pooled_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score, self.head = nn.Linear(4, 1), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
            weights = self.score(x).squeeze(-1).softmax(dim=1)  # effect: GS700
            weights = weights * kept  # cause: GS700
            return self.head((weights.unsqueeze(-1) * x).sum(1))

    model = Pooled()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        kept = (torch.arange(6) < lengths).float()
        loss = nn.functional.cross_entropy(model(x, kept), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_heads_and_where() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix, out = nn.Linear(8, 24), nn.Linear(8, 1)
    opt = torch.optim.Adam([*mix.parameters(), *out.parameters()], lr=0.01)
    for _ in range(3):
        x, lengths = torch.randn(4, 6, 8), torch.randint(2, 6, (4,))
        q, k, v = (part.unflatten(-1, (2, 4)) for part in mix(x).chunk(3, dim=-1))
        attention = torch.softmax(torch.einsum("bihd,bjhd->bhij", q, k) / 2, -1)  # effect: GS700
        there = (torch.arange(6) < lengths[:, None])[:, None, None, :]
        attention = torch.where(there, attention, torch.zeros(()))  # cause: GS700
        mixed = torch.einsum("bhij,bjhd->bihd", attention, v).flatten(2)
        loss = (out(mixed) - x.sum(-1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_divided_by_what_is_left() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        kept = (torch.arange(6) < lengths).float()
        weights = score(x).squeeze(-1).softmax(dim=1) * kept
        weights = weights / weights.sum(1, keepdim=True)
        loss = nn.functional.cross_entropy(head((weights.unsqueeze(-1) * x).sum(1)), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_before_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(0, 6, (8, 1))
        gone = torch.arange(6) >= lengths
        weights = score(x).squeeze(-1).masked_fill(gone, -1e9).softmax(dim=1).masked_fill(gone, 0)
        loss = nn.functional.cross_entropy(head((weights.unsqueeze(-1) * x).sum(1)), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_best_experts() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate = nn.Linear(4, 4)
    experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(4))
    opt = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        shares = gate(x).softmax(-1)
        best = torch.zeros_like(shares).scatter(1, shares.topk(2, dim=-1).indices, 1.0)
        given = torch.stack([expert(x) for expert in experts], dim=1)
        mixed = ((shares * best).unsqueeze(-1) * given).sum(1)
        loss = (mixed - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rows_of_padding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix = nn.Linear(4, 12)
    opt = torch.optim.Adam(mix.parameters(), lr=0.01)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        there = torch.arange(6) < lengths
        q, k, v = mix(x).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2) / 2).masked_fill(~there[:, None, :], -1e9)
        weights = scores.softmax(-1) * there[:, :, None]  # of queries that are padding
        loss = ((weights @ v - x) * there[:, :, None]).pow(2).sum() / there.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_left_out_at_random() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix = nn.Linear(4, 12)
    opt = torch.optim.Adam(mix.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        q, k, v = mix(x).chunk(3, dim=-1)
        weights = (q @ k.transpose(1, 2) / 2).softmax(-1)
        weights = weights * (torch.rand(6, 6) > 0.1) / 0.9
        loss = (weights @ v - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
