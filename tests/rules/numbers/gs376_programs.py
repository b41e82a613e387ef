"""More programs of GS376: each bad one is reported at its marks, each good one by no rule."""


def bad_penalty_that_is_constant() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 6), nn.Linear(6, 2)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    labels = torch.cat([torch.zeros(8, dtype=torch.long), torch.ones(8, dtype=torch.long)])
    for _ in range(4):
        z = torch.tanh(body(torch.randn(16, 4)))
        out = head(z)
        p = out.softmax(dim=1)
        each = p[:, labels].sum()  # cause: GS376
        (slope,) = torch.autograd.grad(each, [z], create_graph=True)  # effect: GS376
        loss = nn.functional.cross_entropy(out, labels) + (slope**2).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_diagonal_of_all_pairs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
        loss = -model(x).log_softmax(1)[:, labels].diag().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_columns_as_many_as_rows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 9)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rare = torch.tensor([1, 3, 5, 7])
    for _ in range(4):
        x, labels = torch.randn(4, 4), torch.randint(0, 9, (4,))
        out = model(x)
        loss = nn.functional.cross_entropy(out, labels) + 0.1 * out[:, rare].pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_several_columns_of_each_row() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 30)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        out = model(torch.randn(8 + step, 4))
        drawn = torch.randint(0, 30, (8,))
        loss = out[:, drawn].pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_selected_from_scores() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    users, items = nn.Embedding(40, 8), nn.Parameter(0.1 * torch.randn(15, 8))
    taste = torch.randint(0, 15, (40,))
    opt = torch.optim.Adam([*users.parameters(), items], lr=0.02)
    for _ in range(4):
        who = torch.randint(0, 40, (32,))
        logits = torch.einsum("bd,id->bi", users(who), items)
        picked = torch.index_select(logits, 1, taste[who])  # cause: GS376
        loss = (torch.logsumexp(logits, dim=1) - picked.mean(1)).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS376
        opt.step()


def good_other_samples_as_negatives() -> None:
    """The mean over what the whole batch bought stands beside what each has bought itself."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    users, items = nn.Embedding(40, 8), nn.Parameter(0.1 * torch.randn(15, 8))
    taste = torch.randint(0, 15, (40,))
    opt = torch.optim.Adam([*users.parameters(), items], lr=0.02)
    for step in range(8):
        who = torch.randint(0, 40, (32,))
        bought = taste[who]
        logits = users(who) @ items.t()
        picked = torch.index_select(logits, 1, bought)
        if step % 2:
            loss = (torch.logsumexp(picked, dim=1) - torch.diagonal(picked)).mean()
        else:
            own = logits.gather(1, bought.unsqueeze(1)).squeeze(1)
            loss = nn.functional.softplus(picked.mean(1) - own).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
