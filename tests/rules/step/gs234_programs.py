"""More programs of GS234: each bad one is reported at its marks, each good one by no rule."""


def bad_forward_in_the_closure_only() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1, line_search_fn="strong_wolfe")

    def closure():
        return model(x).pow(2).mean()  # cause: GS234

    for _ in range(4):
        opt.zero_grad()
        loss = closure()
        loss.backward()  # effect: GS234
        opt.step(closure)


def bad_a_lambda() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()  # effect: GS234
        opt.step(lambda loss=loss: loss)  # cause: GS234


def good_one_evaluation_in_each_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        opt.step(lambda loss=loss: loss)


def good_another_optimizer_calls_it_once() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        opt.step(lambda loss=loss: loss)


def good_gradient_by_autograd_grad() -> None:
    import torch

    torch.manual_seed(0)
    w, x = torch.randn(3, requires_grad=True), torch.randn(8, 3)
    opt = torch.optim.LBFGS([w], lr=0.1)

    def closure():
        loss = (x @ w - 1).pow(2).mean()
        (w.grad,) = torch.autograd.grad(loss, [w])
        return loss

    for _ in range(4):
        opt.step(closure)


def good_gradient_worked_out_by_hand() -> None:
    import torch

    torch.manual_seed(0)
    w, x = torch.zeros(3), torch.randn(8, 3)
    opt = torch.optim.LBFGS([w], lr=0.1)

    def closure():
        off = x @ w - 1
        w.grad = 2 * x.T @ off / len(x)
        return off.pow(2).mean()

    for _ in range(4):
        opt.step(closure)


def good_a_first_pass_before_the_loop() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1)

    def closure():
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss

    closure()
    for _ in range(3):
        opt.step(closure)
