"""More programs of GS427: each bad one is reported at its marks, each good one by no rule."""


def bad_parts_by_their_indices() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(80, 8)
    y = x.sum(1, keepdim=True)
    order = torch.randperm(80)
    train, test = order[:60], order[60:]
    model = nn.Linear(8, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # cause: GS427
        opt.step()
    with torch.no_grad():
        out = model(x)
        for rows in (train, test):
            print(nn.functional.mse_loss(out[rows], y[rows]).item())  # effect: GS427


def good_a_loader_for_each() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset, random_split

    torch.manual_seed(0)
    x = torch.randn(80, 8)
    data = TensorDataset(x, (x[:, 0] > 0).long())
    train, test = random_split(data, [60, 20])
    model = nn.Linear(8, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        for a, b in DataLoader(train, batch_size=20, shuffle=True):
            opt.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            opt.step()
    with torch.no_grad():
        for a, b in DataLoader(test, batch_size=20):
            hits = model(a).argmax(1) == b
            print(hits[b == 0].float().mean(), hits[b == 1].float().mean())


def good_rows_that_were_taken_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(80, 8)
    y = (x[:, 0] > 0).long()
    order = torch.randperm(80)
    train_x, train_y, test_x, test_y = x[order[:60]], y[order[:60]], x[order[60:]], y[order[60:]]
    model = nn.Linear(8, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        nn.functional.cross_entropy(model(train_x), train_y).backward()
        opt.step()
    with torch.no_grad():
        print((model(test_x).argmax(1) == test_y).float().mean())


def bad_loss_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    people = 60
    links = torch.rand(people, people) < 0.1
    near = (links | links.T).float() + torch.eye(people)
    near = near / near.sum(1, keepdim=True)
    traits = torch.randn(people, 6)
    party = (near @ traits)[:, :3].argmax(1)
    order = torch.randperm(people)
    known, asked = order[:40], order[40:]
    first, last = nn.Linear(6, 8), nn.Linear(8, 3)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(5):
        logp = torch.log_softmax(near @ last(torch.relu(near @ first(traits))), dim=1)
        loss = -logp.gather(1, party[:, None]).mean()  # cause: GS427
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        guess = (near @ last(torch.relu(near @ first(traits)))).argmax(1)
        for part in (known, asked):
            print((guess[part] == party[part]).float().mean().item())  # effect: GS427


def bad_squares_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(80, 8)
    y = x.sum(1)
    chosen = torch.rand(80) < 0.7
    model = nn.Linear(8, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        (model(x)[:, 0] - y).pow(2).mean().backward()  # cause: GS427
        opt.step()
    with torch.no_grad():
        out = model(x)[:, 0]
        missed = (out[chosen] - y[chosen]).abs().mean()
        print(missed, (out[~chosen] - y[~chosen]).abs().mean())  # effect: GS427


def good_rows_taken_of_the_loss() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    x = torch.randn(80, 8)
    y = (x[:, 0] > 0).long()
    chosen = torch.rand(80) < 0.7
    rest = ~chosen
    model = nn.Linear(8, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        logp = F.log_softmax(model(x), dim=1)
        each = F.nll_loss(logp, y, reduction="none")
        own = -logp.gather(1, y[:, None])[:, 0]
        picked = logp[torch.arange(80), y]
        loss = each[chosen].mean() + (own * chosen).sum() / chosen.sum() - picked[chosen].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        right = model(x).argmax(1) == y
        print(right[chosen].float().mean(), right[rest].float().mean())


def bad_parts_by_index_in_a_helper() -> None:  # fix: by hand
    import torch
    from torch import nn

    def right(logp: torch.Tensor, kinds: torch.Tensor, idx: torch.Tensor) -> float:
        hits = logp.index_select(0, idx).argmax(1).eq(kinds.index_select(0, idx))  # effect: GS427
        return hits.float().mean().item()

    torch.manual_seed(0)
    x = torch.randn(60, 8)
    kinds = x[:, :3].argmax(1)
    order = torch.randperm(60)
    idx_val, idx_test = order[30:48], order[48:]
    net = nn.Linear(8, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        logp = net(x).log_softmax(1)
        loss = nn.functional.nll_loss(logp, kinds)  # cause: GS427
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            print(right(net(x), kinds, idx_val))
    with torch.no_grad():
        print(right(net(x), kinds, idx_test))


def good_learned_again_in_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(60, 6)
    y = (x[:, 0] > 0).long()
    encoder, decoder, top = nn.Linear(6, 4), nn.Linear(4, 6), nn.Linear(4, 2)
    first = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(6):
        first.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        first.step()
    for p in encoder.parameters():
        p.requires_grad = False
    second = torch.optim.Adam(top.parameters(), lr=0.01)
    for _ in range(3):
        for rows in torch.randperm(60).split(20):
            loss = nn.functional.cross_entropy(top(encoder(x[rows])), y[rows])
            second.zero_grad()
            loss.backward()
            second.step()
