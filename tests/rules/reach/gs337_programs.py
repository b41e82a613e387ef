"""More programs of GS337: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_mask_that_is_given() -> None:
    import torch
    from torch import nn

    def attend(x, mask=None):
        scores = x @ x.transpose(1, 2)
        if mask is None:  # cause: GS337
            scores = scores.masked_fill(mask[:, None] == 0, float("-inf"))
        return scores.softmax(-1) @ x

    torch.manual_seed(0)
    table, head = nn.Embedding(9, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        words = torch.randint(1, 9, (6, 5))
        out = head(attend(table(words), words > 1).mean(1))  # effect: GS337
        loss = nn.functional.cross_entropy(out, words[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_what_is_missing_is_made() -> None:
    import torch
    from torch import nn

    def weighted(loss, weights=None, seen=None):
        if weights is None:
            weights = torch.ones_like(loss)
            weights = weights / weights.sum()
        if not seen:
            seen.append(loss.detach()[0])
        if weights.dim() == 1 and seen is None:
            print(f"nothing was seen, {seen}")
        return (loss * weights).sum()

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    first: list[torch.Tensor] = []
    for step in range(4):
        each = (model(torch.randn(8, 4)) - 1).pow(2).squeeze(1)
        given = torch.full((8,), 1 / 8) if step else None
        loss = weighted(each, given, first)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_nothing_to_go_through() -> None:
    import torch
    from torch import nn

    def told(loss, terms=None):
        if not terms:
            return loss
        if terms is None and loss.dim() and terms[0] > 0:
            return loss
        return loss + sum(terms)

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        out = model(torch.randn(8, 4))
        loss = told((out - 1).pow(2).mean(), [out.abs().mean()])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_weights_in_an_expression() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Trusted(nn.Module):
        def forward(self, guess, price, trust=None):
            each = nn.functional.huber_loss(guess, price, reduction="none")
            return (each * trust).sum() / trust.sum() if trust is None else each.mean()  # cause: GS337

    model, measure = nn.Linear(4, 1), Trusted()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        house, trust = torch.randn(8, 4), torch.rand(8, 1)
        loss = measure(model(house), house[:, :1], trust=trust)  # effect: GS337
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_returned_before_the_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def pooled(states, keep=None):
        if keep is not None:  # cause: GS337
            return states.mean(1)
        states = states * keep.unsqueeze(-1)
        return states.sum(1) / keep.sum(1, keepdim=True)

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, keep = torch.randn(8, 5, 4), (torch.rand(8, 5) < 0.8).float()
        loss = pooled(model(x), keep).pow(2).mean()  # effect: GS337
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_expression_and_early_return() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def averaged(each, trust=None):
        return each.mean() if trust is None else (each * trust).sum() / trust.sum()

    def cleaned(states, keep=None, fill=None):
        if keep is not None:
            return states * keep.unsqueeze(-1)
        if fill is not None and keep is None:
            keep = torch.ones(states.shape[:-1])
            return states * keep[..., None] + fill
        return states

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x, keep = torch.randn(8, 4), (torch.rand(8) < 0.8).float()
        trust = torch.rand(8, 1) if step else None
        loss = averaged(model(cleaned(x, keep, fill=keep[0])).pow(2), trust)
        opt.zero_grad()
        loss.backward()
        opt.step()
