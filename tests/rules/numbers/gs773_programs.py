"""More programs of GS773: each bad one is reported at its marks, each good one by no rule."""


def bad_weighted() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 10)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(10, (16,))
        p = model(x).softmax(1)
        wanted = torch.eye(10)[y]
        easy = (1 - (p * wanted).sum(1)) ** 2
        opt.zero_grad()
        loss = (easy.unsqueeze(1) * (-wanted * p.clamp_min(1e-12).log())).mean()  # cause: GS773
        loss.backward()  # effect: GS773
        opt.step()


def good_each_class_asked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 10)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(10, (16,))
        wanted = nn.functional.one_hot(y, 10).float()
        p = model(x).sigmoid()
        opt.zero_grad()
        (-(wanted * p.log() + (1 - wanted) * (1 - p).log())).mean().backward()
        opt.step()


def good_times_the_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 10)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(10, (16,))
        wanted = nn.functional.one_hot(y, 10).float()
        opt.zero_grad()
        loss = -(wanted * model(x).log_softmax(1)).mean() * 10
        loss.backward()
        opt.step()
