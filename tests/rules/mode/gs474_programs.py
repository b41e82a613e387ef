"""Programs for GS474."""


def bad_a_list_of_accuracies() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x, held = torch.randn(64, 4), torch.randn(51, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    test = DataLoader(TensorDataset(held, (held[:, 0] > 0).long()), batch_size=24)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def accuracy() -> float:
        model.eval()
        shares = []
        with torch.no_grad():
            for rows, wanted in test:
                hit = model(rows).argmax(dim=1) == wanted
                shares.append(hit.float().mean().item())  # effect: GS474
        model.train()
        return sum(shares) / len(shares)  # cause: GS474

    for _ in range(3):
        for rows, wanted in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), wanted).backward()
            opt.step()
        print(accuracy())


def good_all_batches_alike() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x, held = torch.randn(64, 4), torch.randn(48, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=15)
    test = DataLoader(TensorDataset(held, (held[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for rows, wanted in loader:  # the curve of a training is allowed to be rough
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(rows), wanted)
            loss.backward()
            opt.step()
            total += loss.item()
        print(total / len(loader))
        losses = []
        with torch.no_grad():
            for rows, wanted in test:
                losses.append(nn.functional.cross_entropy(model(rows), wanted).item())
        print(sum(losses) / len(losses))


def good_batches_of_one_user_each() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(200, 4)
    y = x.sum(1, keepdim=True) + 0.1 * torch.randn(200, 1)
    user = torch.tensor([0] * 24 + [1] * 24 + [2] * 20 + [3] * 5)
    held = torch.randn(73, 4)
    held_y = held.sum(1, keepdim=True) + 0.1 * torch.randn(73, 1)
    by_user = [torch.nonzero(user == u).flatten().tolist() for u in range(4)]
    train = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    users = DataLoader(TensorDataset(held, held_y), batch_sampler=by_user)
    plain = DataLoader(TensorDataset(held, held_y), batch_size=24)

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(5):
        for a, b in train:
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
        macro = micro = 0.0
        with torch.no_grad():
            for a, b in users:
                macro += nn.functional.mse_loss(model(a), b).item()
            for a, b in plain:
                micro += nn.functional.mse_loss(model(a), b, reduction="sum").item() / len(held)
        macro /= len(users)
        print(f"{epoch} per user {macro:.4f} per sample {micro:.4f}")
