"""More programs of GS606: each bad one is reported at its marks, each good one by no rule."""


def bad_through_a_helper() -> None:
    import torch
    from torch.autograd import Variable

    def to_var(data: torch.Tensor, volatile: bool = False) -> torch.Tensor:
        return Variable(data, volatile=volatile)

    weight = torch.ones(3, requires_grad=True)
    y = weight * to_var(torch.ones(3), volatile=True)  # cause: GS606
    print(y.requires_grad)


def good_helper_that_is_not_asked() -> None:
    import torch
    from torch.autograd import Variable

    def to_var(data: torch.Tensor, volatile: bool = False) -> torch.Tensor:
        return Variable(data, volatile=volatile)

    weight = torch.ones(3, requires_grad=True)
    assert (weight * to_var(torch.ones(3))).requires_grad


def good_variable_of_its_own() -> None:
    import torch
    from torch import nn

    def Variable(data: torch.Tensor, volatile: bool = False) -> torch.Tensor:
        torch.set_grad_enabled(not volatile)
        return data

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        model(Variable(torch.randn(8, 3), volatile=True))
        opt.zero_grad()
        model(Variable(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def good_a_constant_of_what_is_trained() -> None:
    import torch
    from torch.autograd import Variable

    torch.manual_seed(0)
    net = torch.nn.Linear(4, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scale = Variable(torch.rand(4), volatile=True)
    for _ in range(4):
        x = torch.randn(16, 4)
        opt.zero_grad()
        (net(x) - x * scale).pow(2).mean().backward()
        opt.step()


def good_constant_written_into_a_target() -> None:
    import torch
    from torch import nn
    from torch.autograd import Variable

    torch.manual_seed(0)
    priors = Variable(torch.rand(4), volatile=True)
    net = nn.Linear(4, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        target = torch.empty(16, 4)
        target[:] = (x > priors).float()
        opt.zero_grad()
        (net(x) - target).pow(2).mean().backward()
        opt.step()
