"""More programs of GS319: each bad one is reported at its marks, each good one by no rule."""


def bad_several_inner_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4, 1))
    opt = torch.optim.Adam([first, second], lr=0.01)
    for _ in range(3):
        fast = [first, second]
        for _ in range(2):
            inner = (torch.tanh(torch.randn(8, 4) @ fast[0]) @ fast[1]).pow(2).mean()
            gradients = torch.autograd.grad(inner, fast)  # cause: GS319
            fast = [w - 0.1 * g for w, g in zip(fast, gradients)]
        opt.zero_grad()
        outer = (torch.tanh(torch.randn(8, 4) @ fast[0]) @ fast[1] - 1).pow(2).mean()
        outer.backward()  # effect: GS319
        opt.step()


def good_updated_by_hand() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.randn(4, requires_grad=True)
    for _ in range(3):
        (g,) = torch.autograd.grad((torch.randn(8, 4) @ w).pow(2).mean(), [w])
        w = (w - 0.1 * g).detach().requires_grad_()


def good_adversarial_input() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4, requires_grad=True)
        (g,) = torch.autograd.grad(model(x).pow(2).mean(), [x])
        opt.zero_grad()
        model((x + 0.1 * g.sign()).detach()).pow(2).mean().backward()
        opt.step()


def bad_learned_rate_and_tables() -> None:
    import torch
    from torch import nn
    from torch.func import functional_call

    torch.manual_seed(0)
    net, rate = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Parameter(torch.tensor(0.05))
    outer = torch.optim.Adam([*net.parameters(), rate], lr=2e-3)
    for _ in range(3):
        x = torch.rand(20, 1) * 6 - 3
        y = (x + torch.rand(1)).sin()
        fast = dict(net.named_parameters())
        for _ in range(2):
            miss = nn.functional.mse_loss(functional_call(net, fast, (x[:10],)), y[:10])
            slopes = torch.autograd.grad(miss, list(fast.values()))  # cause: GS319
            fast = {key: value.sub(rate * g) for (key, value), g in zip(fast.items(), slopes, strict=True)}
        outer.zero_grad()
        nn.functional.mse_loss(functional_call(net, fast, (x[10:],)), y[10:]).backward()  # effect: GS319
        outer.step()


def good_learned_weight_of_a_penalty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, width = nn.Linear(4, 1), nn.Parameter(torch.tensor(0.1))
    opt = torch.optim.Adam([*net.parameters(), width], lr=2e-3)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        near = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(nn.functional.mse_loss(net(near), y), near)
        moved = x + width * slope.sign()
        opt.zero_grad()
        (net(moved) - y).pow(2).mean().backward()
        opt.step()


def good_first_order_in_the_evaluation_alone() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(4, 1))
    opt = torch.optim.SGD([weight], lr=0.02)

    def task(train: bool) -> torch.Tensor:
        x, shift = torch.randn(8, 4), torch.randn(())
        y = x.sum(dim=1, keepdim=True) + shift
        (gradient,) = torch.autograd.grad((x @ weight - y).pow(2).mean(), [weight], create_graph=train)
        return (x @ (weight - 0.1 * gradient) - y).pow(2).mean()

    for step in range(6):
        opt.zero_grad()
        task(True).backward()
        opt.step()
        if step % 2:
            task(False).backward()
