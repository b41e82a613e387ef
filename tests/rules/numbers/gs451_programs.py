"""More programs of GS451: each bad one is reported at its marks, each good one by no rule."""


def bad_by_einsum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight = nn.Parameter(0.1 * torch.randn(12, 3, 4, 5))
    opt = torch.optim.Adam([weight], lr=0.01)

    def route(votes: torch.Tensor) -> torch.Tensor:
        logits = votes.new_zeros(votes.shape[:3])
        for turn in range(3):
            shares = logits.softmax(dim=1)  # cause: GS451
            total = torch.einsum("bio,biod->bod", shares, votes)  # effect: GS451
            length = total.norm(dim=-1, keepdim=True)
            out = total * length / (1 + length**2)
            if turn < 2:
                logits = logits + torch.einsum("biod,bod->bio", votes, out)
        return out

    for _ in range(5):
        votes = torch.einsum("bik,iokd->biod", torch.randn(8, 12, 4), weight)
        loss = (route(votes).norm(dim=-1) - torch.rand(8, 3)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_by_einsum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight = nn.Parameter(0.1 * torch.randn(12, 3, 4, 5))
    opt = torch.optim.Adam([weight], lr=0.01)
    for _ in range(5):
        votes = torch.einsum("bik,iokd->biod", torch.randn(8, 12, 4), weight)
        logits = votes.new_zeros(votes.shape[:3])
        for turn in range(3):
            total = torch.einsum("bio,biod->bod", logits.softmax(dim=2), votes)
            length = total.norm(dim=-1, keepdim=True)
            out = total * length / (1 + length**2)
            if turn < 2:
                logits = logits + torch.einsum("biod,bod->bio", votes, out)
        loss = (out.norm(dim=-1) - torch.rand(8, 3)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_attention_that_adds_up_its_scores() -> None:
    """Queries that read the same values again and again: a mean over the values is what attention takes."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    start, head = nn.Parameter(torch.randn(3, 5)), nn.Linear(5, 2)
    opt = torch.optim.Adam([start, *head.parameters()], lr=0.01)
    for _ in range(5):
        values = torch.randn(8, 12, 5)
        logits = torch.einsum("bid,od->bio", values, start)
        for _ in range(2):
            read = torch.einsum("bio,bid->bod", logits.softmax(dim=1), values)
            logits = logits + torch.einsum("bid,bod->bio", values, torch.tanh(read))
        out = torch.einsum("bio,bid->bod", logits.softmax(dim=1), values)
        loss = nn.functional.cross_entropy(head(out.mean(1)), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_attention_by_products() -> None:
    """The same without `einsum`: the values have one place along the queries."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    start, head = nn.Parameter(torch.randn(3, 5)), nn.Linear(5, 2)
    opt = torch.optim.Adam([start, *head.parameters()], lr=0.01)
    for _ in range(5):
        values = torch.randn(8, 12, 5)
        own = values.unsqueeze(2)
        logits = (own * start).sum(-1)
        for _ in range(2):
            read = (logits.softmax(dim=1).unsqueeze(-1) * own).sum(1, keepdim=True)
            logits = logits + (own * torch.tanh(read)).sum(-1)
        out = (logits.softmax(dim=1).unsqueeze(-1) * own).sum(1)
        loss = nn.functional.cross_entropy(head(out.mean(1)), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
