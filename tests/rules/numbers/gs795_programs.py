"""More programs of GS795: each bad one is reported at its marks, each good one by no rule."""


def bad_training_nodes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(30, 4), torch.randint(0, 3, (30,))
    train = torch.zeros(30, dtype=torch.long)
    train[10:25] = 1
    model = nn.Linear(4, 3)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        out = model(x)
        loss = nn.functional.cross_entropy(out[train], y[train])  # cause: GS795
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_places_of_the_second_axis() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 6)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(8, 6)
        hidden = torch.bernoulli(torch.full((6,), 0.5)).int()
        loss = (model(x) - x)[:, 1 - hidden].pow(2).mean()  # cause: GS795
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_of_two_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weights, model = torch.tensor([1.0, 3.0]), nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, y = torch.randn(12, 4), torch.randint(0, 2, (12,))
        losses = nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y.float(), reduction="none")
        loss = (losses * weights[y]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_centres_for_the_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    centres, model = nn.Parameter(torch.randn(2, 3)), nn.Linear(4, 3)
    opt = torch.optim.Adam([centres, *model.parameters()], lr=0.01)
    for _ in range(4):
        x, kind = torch.randn(12, 4), torch.randint(0, 2, (12,))
        loss = (model(x) - centres[kind]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rare_kinds_in_a_longer_table() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    shares = torch.tensor([0.6, 0.3, 0.02, 0.02, 0.02, 0.02, 0.01, 0.01])
    table, model = nn.Parameter(torch.randn(8, 3)), nn.Linear(4, 3)
    opt = torch.optim.Adam([table, *model.parameters()], lr=0.01)
    for _ in range(12):
        x, kind = torch.randn(8, 4), torch.multinomial(shares, 8, replacement=True)
        loss = (model(x) - table[kind]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_pair_exchanged() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(16):
        pair = torch.randn(2, 4)
        out = model(pair)
        loss = nn.functional.cosine_similarity(out, out[torch.randperm(2)]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_parents_of_a_small_tree() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    parent = torch.tensor([0, 0, 0, 1, 1])
    up, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*up.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        nodes = torch.randn(5, 4)
        nodes = torch.tanh(nodes + up(nodes)[parent])
        loss = (head(nodes) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_places_of_marked_rows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, y = torch.randn(12, 4), torch.randn(12, 1)
        marked = (torch.rand(12) < 0.6).long()
        loss = (model(x) - y)[marked.nonzero()[:, 0]].pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_selected_along_an_axis() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, context, tags = nn.Embedding(40, 12), nn.GRU(12, 10, batch_first=True), nn.Linear(10, 5)
    opt = torch.optim.Adam(nn.ModuleList([words, context, tags]).parameters(), lr=0.01)
    for _ in range(5):
        is_word = (torch.arange(9).expand(16, 9) < torch.randint(3, 10, (16, 1))).int()
        sentence = torch.randint(1, 40, (16, 9)) * is_word
        chosen, truth = is_word.flatten(), (sentence % 5).flatten()
        scores = tags(context(words(sentence))[0]).flatten(0, 1)
        picked = torch.index_select(scores, 0, chosen)  # cause: GS795
        loss = nn.functional.cross_entropy(picked, torch.index_select(truth, 0, chosen))  # cause: GS795
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_numbers_of_rows_selected() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 5)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        keep = (torch.rand(30) < 0.6).int()
        x, y = torch.randn(30, 4), torch.randint(0, 5, (30,))
        rows = keep.nonzero().squeeze(1)
        loss = nn.functional.cross_entropy(model(x).index_select(0, rows), y.index_select(0, rows))
        opt.zero_grad()
        loss.backward()
        opt.step()
