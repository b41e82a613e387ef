"""More programs of GS732: each bad one is reported at its marks, each good one by no rule."""


def bad_parameter_by_keyword() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gain = nn.Parameter(torch.randn(6))
    opt = torch.optim.SGD([gain], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        errors = (gain * torch.randn(32, 6) - torch.randn(32, 6)).pow(2).mean(0)
        errors.backward(gradient=gain)  # cause: GS732
        opt.step()


def good_weights_of_ones_own() -> None:
    import torch

    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    weights = torch.tensor([0.5, 0.2, 0.3])
    for _ in range(3):
        y = (x - 1).pow(2)
        y.backward(weights)
        with torch.no_grad():
            x -= 0.1 * x.grad
        x.grad = None


def good_product_with_a_vector() -> None:
    """The double backward that gives a Jacobian times a vector."""
    import torch

    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    y = x.pow(3)
    v = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, v, create_graph=True)
    (product,) = torch.autograd.grad(g, v, torch.ones_like(g))
    print(product.tolist())


def good_weights_that_are_learned() -> None:
    """Another leaf: it weighs what is differentiated by `x`."""
    import torch

    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    scale = torch.tensor([0.5, 0.2, 0.3], requires_grad=True)
    for _ in range(3):
        y = (x - 1).pow(2)
        y.backward(scale.detach())
        with torch.no_grad():
            x -= 0.1 * x.grad
        x.grad = None
    (scale * x.detach()).sum().backward()
    print(scale.grad.tolist())


def bad_loss_as_its_own_gradient() -> None:
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 3)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward(loss)  # cause: GS732
        opt.step()


def bad_results_as_their_own_gradients() -> None:
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 3)
        errors = (net(x) - x.sum(1, keepdim=True)).abs()
        opt.zero_grad()
        errors.backward(gradient=errors)  # cause: GS732
        opt.step()


def good_weighted_by_what_is_detached() -> None:
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 3)
        errors = (net(x) - x.sum(1, keepdim=True)).abs()
        opt.zero_grad()
        errors.backward(errors.detach() / errors.detach().sum())
        opt.step()


def bad_given_to_the_function() -> None:
    import torch
    from torch import nn

    class Budget(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.spent = nn.Parameter(torch.linspace(0.5, 2.0, 6))

        def costs(self, demand: torch.Tensor) -> torch.Tensor:
            return torch.relu(demand - self.spent) ** 2 + 0.1 * self.spent.abs()

    torch.manual_seed(0)
    budget = Budget()
    opt = torch.optim.SGD(budget.parameters(), lr=0.05)
    for _ in range(6):
        costs = budget.costs(1.5 + 0.2 * torch.randn(6))
        opt.zero_grad()
        torch.autograd.backward([costs], grad_tensors=[budget.spent])  # cause: GS732
        opt.step()


def good_other_weights_given_to_the_function() -> None:
    import torch

    torch.manual_seed(0)
    spent, turnover = torch.ones(6, requires_grad=True), torch.rand(6) + 0.5
    opt = torch.optim.SGD([spent], lr=0.05)
    for _ in range(6):
        costs = torch.relu(1.5 + 0.2 * torch.randn(6) - spent) ** 2 + 0.1 * spent.abs()
        opt.zero_grad()
        torch.autograd.backward([costs], grad_tensors=[turnover])
        opt.step()
