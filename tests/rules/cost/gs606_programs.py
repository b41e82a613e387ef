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


def bad_decided_by_an_argument() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.autograd import Variable

    def wrap(array: torch.Tensor, evaluating: bool = False) -> torch.Tensor:
        made: torch.Tensor = Variable(array, volatile=evaluating)  # cause: GS606
        return made

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(40, 9), torch.randint(0, 3, (40,))
    for _ in range(4):
        net.train()
        opt.zero_grad()
        nn.functional.cross_entropy(net(wrap(x[:30])), y[:30]).backward()
        opt.step()
        net.eval()
        answer = net(wrap(x[30:], evaluating=True))
        (answer.argmax(1) == y[30:]).sum().item()


def good_asked_under_no_grad() -> None:
    import torch
    from torch import nn
    from torch.autograd import Variable

    def wrap(array: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = Variable(array, volatile=not torch.is_grad_enabled())
        return made

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(40, 9), torch.randint(0, 3, (40,))
    for _ in range(4):
        net.train()
        opt.zero_grad()
        nn.functional.cross_entropy(net(wrap(x[:30])), y[:30]).backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            (net(wrap(x[30:])).argmax(1) == y[30:]).sum().item()
