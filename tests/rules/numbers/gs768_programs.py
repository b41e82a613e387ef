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
