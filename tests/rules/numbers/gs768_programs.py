"""More programs of GS768: each bad one is reported at its marks, each good one by no rule."""


def bad_as_a_function() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    tags = torch.zeros(64, 5)
    tags[:, 0] = 1
    tags[torch.arange(64), torch.randint(1, 5, (64,))] = 1
    model = nn.Linear(6, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), tags)  # cause: GS768
        loss.backward()  # effect: GS768
        opt.step()


def good_one_hot() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = nn.functional.one_hot(x[:, :4].argmax(1), 4).float()
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()


def good_soft_targets() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = torch.softmax(3 * x[:, :4], dim=1)
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()


def good_masked_rows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = nn.functional.one_hot(x[:, :4].argmax(1), 4).float() * (torch.rand(64, 1) > 0.3)
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()


def bad_one_hot_along_the_samples() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    torch.manual_seed(0)
    samples = []
    for kind in torch.randint(0, 4, (32,)).tolist():
        wanted = [0.0, 0.0, 0.0, 0.0]
        wanted[kind] = 1.0
        samples.append((torch.randn(6), wanted))
    net = nn.Linear(6, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for rows, lists in DataLoader(samples, batch_size=4):  # type: ignore[arg-type]
        right = torch.stack([one.float() for one in lists])
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(rows), right)  # cause: GS768
        loss.backward()  # effect: GS768
        opt.step()


def bad_softmax_for_labels_of_their_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = (x[:, :4] > 0).float()
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chances = torch.softmax(model(x), dim=1)  # cause: GS768
        loss = nn.functional.binary_cross_entropy(chances, y)  # effect: GS768
        loss.backward()
        opt.step()


def good_softmax_for_one_of_them() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = nn.functional.one_hot(x[:, :4].argmax(1), 4).float()
    model = nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy(torch.softmax(model(x), dim=1), y)
        loss.backward()
        opt.step()
