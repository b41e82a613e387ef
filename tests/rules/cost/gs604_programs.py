"""More programs of GS604: each bad one is reported at its marks, each good one by no rule."""


def bad_create_in_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(create_graph=True)  # cause: GS604
        opt.step()


def bad_create_then_detach() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)  # cause: GS604
        for p, slope in zip(model.parameters(), slopes, strict=True):
            p.grad = slope.detach()
        opt.step()


def bad_create_graph_of_a_sampler() -> None:
    import torch
    from torch import nn

    energy = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 1))
    opt = torch.optim.SGD(energy.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2)
        for _ in range(2):
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)  # cause: GS604
            x = x - 0.1 * slope
        opt.zero_grad()
        (energy(torch.randn(8, 2)).mean() - energy(x.detach()).mean()).backward()
        opt.step()


def bad_create_and_clip() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(create_graph=True)  # cause: GS604
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


def good_unrolled_sampler() -> None:
    import torch
    from torch import nn

    energy = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 1))
    opt = torch.optim.SGD(energy.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2, requires_grad=True)
        for _ in range(2):
            (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
            x = x - 0.1 * slope
        opt.zero_grad()
        (x - 1).pow(2).mean().backward()
        opt.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4, requires_grad=True)
        out = critic(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True, retain_graph=True)
        (out.mean() + slope.norm(dim=1).sub(1).pow(2).mean()).backward()
        opt.step()


def good_gradients_of_each_output() -> None:
    import torch

    x = torch.randn(3, requires_grad=True)
    for _ in range(2):
        y = x.sin() * x
        for i in range(3):
            torch.autograd.grad(y[i], x, retain_graph=True)
        y.sum().backward()


def good_penalty_on_the_weights_gradient() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        (loss + 0.1 * sum(s.pow(2).sum() for s in slopes)).backward()
        opt.step()


def good_penalty_of_a_piecewise_linear_critic() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        real, fake = torch.randn(8, 4), torch.randn(8, 4)
        x = ((real + fake) / 2).requires_grad_(True)
        ones = torch.ones(8, 1)
        slope = torch.autograd.grad(critic(x), x, ones, create_graph=True, retain_graph=True)[0]
        opt.zero_grad()
        loss = critic(fake).mean() - critic(real).mean() + (slope.norm(2, dim=1) - 1).pow(2).mean()
        loss.backward()
        opt.step()


def good_newton_by_torchs_own_functions() -> None:
    import torch

    def loss(w: torch.Tensor) -> torch.Tensor:
        return (w * w).sum() + w.exp().sum()

    w = torch.ones(3)
    for _ in range(3):
        slope = torch.autograd.functional.jacobian(loss, w)
        w = w - torch.linalg.solve(torch.autograd.functional.hessian(loss, w), slope)


def good_inner_loop() -> None:
    import torch

    w = torch.randn(4, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (g,) = torch.autograd.grad((torch.randn(8, 4) @ w).pow(2).mean(), w, create_graph=True)
        fast = w - 0.1 * g
        (torch.randn(8, 4) @ fast).pow(2).mean().backward()
        opt.step()


def good_state_carried_on_purpose() -> None:
    import torch

    w = torch.randn((), requires_grad=True)
    h = torch.zeros(())
    for _ in range(3):
        h = torch.tanh(h + w)
        h.pow(2).backward(retain_graph=True)


def bad_create_and_print() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(create_graph=True)  # cause: GS604
        print([p.grad.norm().item() for p in model.parameters() if p.grad is not None])
        opt.step()


def good_create_and_penalise_the_norm() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(create_graph=True)
        norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        print([norm.item() for norm in norms])
        torch.stack(norms).sum().backward()
        opt.step()
        for p in model.parameters():
            p.grad = None


def good_outer_pass_after_many_other_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    learner, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    outer_opt = torch.optim.SGD(learner.parameters(), lr=0.1)
    critic_opt = torch.optim.SGD(critic.parameters(), lr=0.01)
    for tasks in (8, 8, 8, 8, 8, 8, 140):  # of the last round no pass that was looked at knows
        after = torch.zeros(())
        for _ in range(tasks):
            x, y = torch.randn(16, 4), torch.randn(16, 4)
            critic_opt.zero_grad()
            critic(x).pow(2).mean().backward()
            critic_opt.step()
            before = (torch.tanh(learner(x)) - y).pow(2).mean()
            gw, gb = torch.autograd.grad(before, [learner.weight, learner.bias], create_graph=True)
            w, b = learner.weight - 0.5 * gw, learner.bias - 0.5 * gb
            after = after + (torch.tanh(x @ w.t() + b) - y).pow(2).mean()
        outer_opt.zero_grad()
        (after / tasks).backward()
        outer_opt.step()


def good_outer_pass_is_never_looked_at() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    learner, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    outer_opt = torch.optim.SGD(learner.parameters(), lr=0.1)
    critic_opt = torch.optim.SGD(critic.parameters(), lr=0.01)
    for _ in range(2):
        adapted = torch.zeros(())
        for _ in range(150):
            x, y = torch.randn(16, 4), torch.randn(16, 4)
            critic_opt.zero_grad()
            critic(x).pow(2).mean().backward()
            critic_opt.step()
            before = (torch.tanh(learner(x)) - y).pow(2).mean()
            gw, gb = torch.autograd.grad(before, [learner.weight, learner.bias], create_graph=True)
            w, b = learner.weight - 0.5 * gw, learner.bias - 0.5 * gb
            adapted = adapted + (torch.tanh(x @ w.t() + b) - y).pow(2).mean()
        outer_opt.zero_grad()
        (adapted / 150).backward()
        outer_opt.step()
