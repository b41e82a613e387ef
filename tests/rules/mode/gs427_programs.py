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
