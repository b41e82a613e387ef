"""More programs of GS789: each bad one is reported at its marks, each good one by no rule."""


def bad_divided_in_training_only() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pictures = torch.randint(0, 256, (64, 1, 8, 8)).float()
    labels = (pictures.mean((1, 2, 3)) > 127).long()
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for i in range(0, 48, 16):
        scores = model(pictures[i : i + 16] / 255)  # effect: GS789
        loss = nn.functional.cross_entropy(scores, labels[i : i + 16])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        model(pictures[48:]).argmax(1).tolist()  # cause: GS789


def good_begun_with_zeros() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.randn(16, 10, 2).cumsum(1)
    model, head = nn.GRU(2, 8, batch_first=True), nn.Linear(8, 2)
    opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        out, _ = model(series[:, :-1])
        loss = nn.functional.mse_loss(head(out), series[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x, state, made = torch.zeros(1, 1, 2), None, []
        for _ in range(5):
            out, state = model(x, state)
            x = head(out)
            made.append(x)
        (torch.cat(made).norm().item(), model(1e-3 * torch.randn(1, 3, 2))[0].norm().item())


def bad_divided_in_evaluation_only() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pictures = torch.randint(0, 256, (96, 16)).float()
    bright = (pictures[:, :8].mean(1) > pictures[:, 8:].mean(1)).long()
    shown, hidden = pictures[:64], pictures[64:]
    sorter = nn.Linear(16, 2)
    opt = torch.optim.SGD(sorter.parameters(), lr=1e-3)
    for _ in range(5):
        loss = nn.functional.cross_entropy(sorter(shown), bright[:64])  # cause: GS789
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        (sorter(hidden / 255).argmax(1) == bright[64:]).float().mean().item()  # effect: GS789


def bad_not_standardised() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.rand(96, 1, 8, 8)
    labels = (images[:, 0, :4].mean((1, 2)) > images[:, 0, 4:].mean((1, 2))).long()
    train, test = (images[:64] - 0.45) / 0.25, images[64:]
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(train), labels[:64])  # effect: GS789
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        (model(test).argmax(1) == labels[64:]).float().mean().item()  # cause: GS789


def bad_standardised_later() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.rand(96, 1, 8, 8)
    labels = (images[:, 0, :4].mean((1, 2)) > images[:, 0, 4:].mean((1, 2))).long()
    train, test = images[:64], (images[64:] - 0.45) / 0.25
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(train), labels[:64])  # effect: GS789
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        (model(test).argmax(1) == labels[64:]).float().mean().item()  # cause: GS789


def good_noise_is_taken_away() -> None:
    """Noise has no ends: what is trained on is no standardised picture."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.rand(96, 1, 8, 8).pow(2)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        noised = images[:64] + torch.randn(64, 1, 8, 8)
        loss = nn.functional.mse_loss(model(noised), images[:64])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        nn.functional.mse_loss(model(images[64:]), images[64:]).item()


def good_part_of_a_range() -> None:
    """The points of a plot lie within those of the training."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.rand(64, 1) * 4 - 2
        loss = nn.functional.mse_loss(model(x), x.sin())
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        grid = torch.linspace(0, 1, 50).unsqueeze(1)
        nn.functional.mse_loss(model(grid), grid.sin()).item()


def good_few_large_numbers() -> None:
    """A few rows that are a hundred times as large, none of which is in the first batch."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.rand(400, 12)
    y = (x.sum(1, keepdim=True) > 6).float()
    x[torch.tensor([250, 290, 350, 390])] *= 300
    model = nn.Linear(12, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-6)
    for begin in range(0, 300, 50):
        loss = nn.functional.binary_cross_entropy_with_logits(
            model(x[begin : begin + 50]), y[begin : begin + 50]
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        ((model(x[300:]) > 0).float() == y[300:]).float().mean().item()
