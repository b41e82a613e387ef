"""More programs of GS322: each bad one is reported at its marks, each good one by no rule."""


def bad_copied_one_by_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    outer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        before = [p.detach().clone() for p in model.parameters()]
        support = (model(torch.randn(6, 2)) - 1).square().mean()
        slopes = torch.autograd.grad(support, tuple(model.parameters()), create_graph=True)  # effect: GS322
        adapted = [p - 0.05 * g for p, g in zip(model.parameters(), slopes, strict=True)]
        with torch.no_grad():
            for p, new in zip(model.parameters(), adapted, strict=True):
                p.copy_(new)  # cause: GS322
        query = (model(torch.randn(6, 2)) - 1).square().mean()
        outer.zero_grad()
        query.backward()
        with torch.no_grad():
            for p, old in zip(model.parameters(), before, strict=True):
                p.copy_(old)
        outer.step()


def bad_into_a_clone_of_the_learner() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    learner = nn.Linear(2, 1)
    outer = torch.optim.SGD(learner.parameters(), lr=0.05)
    for _ in range(4):
        fast = copy.deepcopy(learner)
        error = learner(torch.randn(6, 2)).square().mean()
        gradients = torch.autograd.grad(error, list(learner.parameters()), create_graph=True)  # effect: GS322
        with torch.no_grad():
            state = dict(zip(fast.state_dict(), learner.parameters(), strict=True))
        state = {name: p - 0.1 * g for (name, p), g in zip(state.items(), gradients, strict=True)}
        fast.load_state_dict(state)  # cause: GS322
        query = fast(torch.randn(6, 2)).square().mean()
        outer.zero_grad()
        query.backward()
        for p, q in zip(learner.parameters(), fast.parameters(), strict=True):
            p.grad = q.grad
        outer.step()


def good_first_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    outer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        before = [p.detach().clone() for p in model.parameters()]
        support = (model(torch.randn(6, 2)) - 1).square().mean()
        gradients = torch.autograd.grad(support, tuple(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients, strict=True):
                p.sub_(0.05 * g)
        query = (model(torch.randn(6, 2)) - 1).square().mean()
        outer.zero_grad()
        query.backward()
        with torch.no_grad():
            for p, old in zip(model.parameters(), before, strict=True):
                p.copy_(old)
        outer.step()


def good_copied_for_its_score() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    shown = copy.deepcopy(model).requires_grad_(False)
    outer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        support = (model(torch.randn(6, 2)) - 1).square().mean()
        gradients = torch.autograd.grad(support, tuple(model.parameters()), create_graph=True)
        weight, bias = (p - 0.05 * g for p, g in zip(model.parameters(), gradients, strict=True))
        query = (torch.randn(6, 2) @ weight.t() + bias - 1).square().mean()
        outer.zero_grad()
        query.backward()
        outer.step()
        shown.load_state_dict({"weight": weight, "bias": bias})
        print(shown(torch.zeros(1, 2)).item())


def good_differentiated_through() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    outer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        support = (model(torch.randn(6, 2)) - 1).square().mean()
        gradients = torch.autograd.grad(support, tuple(model.parameters()), create_graph=True)
        weight, bias = (p - 0.05 * g for p, g in zip(model.parameters(), gradients, strict=True))
        query = (torch.randn(6, 2) @ weight.t() + bias - 1).square().mean()
        outer.zero_grad()
        query.backward()
        outer.step()


def bad_vector_of_weights() -> None:
    import torch
    from torch import nn
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    torch.manual_seed(0)
    net, log_rate = nn.Linear(2, 1), nn.Parameter(torch.tensor(-2.0))
    opt = torch.optim.Adam([*net.parameters(), log_rate], lr=0.01)
    for _ in range(4):
        x, later, turn = torch.randn(10, 2), torch.randn(10, 2), torch.randn(2, 1)
        weights = list(net.parameters())
        before = parameters_to_vector(weights).detach().clone()
        error = (net(x) - x @ turn).square().mean()
        slopes = torch.autograd.grad(error, weights, create_graph=True)  # effect: GS322
        slope = torch.cat([s.reshape(-1) for s in slopes])
        vector_to_parameters(parameters_to_vector(weights) - log_rate.exp() * slope, weights)  # cause: GS322
        opt.zero_grad()
        (net(later) - later @ turn).square().mean().backward()
        vector_to_parameters(before, weights)
        opt.step()


def good_vector_of_weights_behind_the_pass() -> None:
    import torch
    from torch import nn
    from torch.nn.utils import vector_to_parameters

    torch.manual_seed(0)
    net, log_rate = nn.Linear(2, 1), nn.Parameter(torch.tensor(-2.0))
    opt, turn = torch.optim.Adam([log_rate], lr=0.01), torch.randn(2, 1)
    for _ in range(4):
        x, later = torch.randn(10, 2), torch.randn(10, 2)
        weights = dict(net.named_parameters())
        error = (net(x) - x @ turn).square().mean()
        slopes = torch.autograd.grad(error, list(weights.values()), create_graph=True)
        rate = log_rate.exp()
        moved = {n: w - rate * s for (n, w), s in zip(weights.items(), slopes, strict=True)}
        opt.zero_grad()
        (torch.func.functional_call(net, moved, (later,)) - later @ turn).square().mean().backward()
        opt.step()
        vector_to_parameters(torch.cat([w.detach().reshape(-1) for w in moved.values()]), net.parameters())
