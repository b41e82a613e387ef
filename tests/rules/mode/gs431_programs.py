"""Further programs of GS431."""


def bad_rows_filled_from_the_first_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = torch.randn(30, 4)
    loader = DataLoader(TensorDataset(data), batch_size=10, shuffle=True)
    ordered = DataLoader(TensorDataset(data), batch_size=5)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def embedded() -> torch.Tensor:
        model.eval()
        found = torch.zeros(len(data), 3)
        at = 0
        with torch.no_grad():
            while at + 5 <= len(data):
                (rows,) = next(iter(ordered))  # cause: GS431
                found[at : at + 5] = model(rows)
                at += 5
        model.train()
        return found

    for _ in range(3):
        for (rows,) in loader:
            opt.zero_grad()
            model(rows).pow(2).mean().backward()
            opt.step()
        print(float(embedded().std()))


def bad_batch_taken_by_a_function() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(24, 4)
    held = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=6)
    model = nn.Linear(4, 1).eval()

    def batch() -> list[torch.Tensor]:
        batches = iter(held)  # cause: GS431
        found: list[torch.Tensor] = next(batches)
        return found

    total = 0.0
    with torch.no_grad():
        for step in range(4):
            rows, target = batch()
            total += float(nn.functional.mse_loss(model(rows), target))
            print(step, total)


def bad_trained_on_its_first_batch() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(32, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        rows, target = next(iter(loader))  # cause: GS431
        opt.zero_grad()
        nn.functional.mse_loss(model(rows), target).backward()
        opt.step()


def good_shuffled() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(32, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        rows, target = next(iter(loader))
        opt.zero_grad()
        nn.functional.mse_loss(model(rows), target).backward()
        opt.step()


def good_same_samples_shown_in_each_epoch() -> None:
    """A batch that is kept in view: once before the training, and once in each epoch."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(32, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
    held = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    print(next(iter(held))[0].shape)
    for _ in range(10):
        for rows, target in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(rows), target).backward()
            opt.step()
        rows, target = next(iter(held))
        with torch.no_grad():
            print(float(nn.functional.mse_loss(model(rows), target)))


def good_networks_compared_on_one_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(24, 4)
    held = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=6)
    with torch.no_grad():
        for network in [nn.Linear(4, 1).eval() for _ in range(4)]:
            rows, target = next(iter(held))
            print(float(nn.functional.mse_loss(network(rows), target)))
        for size in (0.0, 0.1, 0.2, 0.3):
            rows, target = next(iter(held))
            print(float(nn.functional.mse_loss(network(rows * (1 + size)), target)))


def good_noise_drawn_anew() -> None:
    """How much the answers to one batch differ with dropout, or with noise."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(24, 4)
    held = DataLoader(TensorDataset(x), batch_size=6)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    answers = []
    with torch.no_grad():
        for _ in range(4):
            (rows,) = next(iter(held))
            answers.append(model(rows))
    model.eval()
    with torch.no_grad():
        for _ in range(4):
            (rows,) = next(iter(held))
            answers.append(model(rows + 0.1 * torch.randn_like(rows)))
    print(float(torch.stack(answers).std(0).mean()))


def good_steps_of_one_whole_batch() -> None:
    """A loader with one batch alone."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(16, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        rows, target = next(iter(loader))
        opt.zero_grad()
        nn.functional.mse_loss(model(rows), target).backward()
        opt.step()


def good_batches_of_a_fold_each() -> None:
    """A loader each for several data sets: the first batch of each."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 1).eval()
    with torch.no_grad():
        for _ in range(3):
            held = DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4)
            (rows,) = next(iter(held))
            print(float(model(rows).mean()))
