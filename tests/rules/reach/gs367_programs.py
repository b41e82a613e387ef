"""More programs of GS367: each bad one is reported at its marks, each good one by no rule."""


def good_number_of_one_and_gradient() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(5):
        logs = policy(torch.randn(16, 4)).log_softmax(1)
        box = logs - logs.detach()
        loss = -(box[:, 0] * torch.randn(16) + box[:, 1]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_first_step_on_each_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(5):
        x, gains = torch.randn(16, 4), torch.randn(16)
        with torch.no_grad():
            old = policy(x).log_softmax(1)[:, 0]
        ratio = (policy(x).log_softmax(1)[:, 0] - old).exp()
        loss = -(ratio * gains).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_second_derivative_at_the_policy_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 3), nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    weights = list(policy.parameters())

    def flat(value: torch.Tensor) -> torch.Tensor:
        return torch.cat([g.flatten() for g in torch.autograd.grad(value, weights, create_graph=True)])

    for _ in range(5):
        x, gains = torch.randn(16, 4), torch.randn(16)
        opt.zero_grad()
        (critic(x)[:, 0] - gains).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            before = policy(x).log_softmax(1)
        logs = policy(x).log_softmax(1)
        far = (before.exp() * (before - logs)).sum(1).mean()
        ascent = flat((logs[:, 0] * gains).mean()).detach()
        slope, way = flat(far), ascent
        for _ in range(3):
            curved = flat(slope @ way).detach() + 0.1 * way
            way = way + 0.1 * (ascent - curved)
        with torch.no_grad():
            parts = way.split([weight.numel() for weight in weights])
            for weight, part in zip(weights, parts, strict=True):
                weight += 0.1 * part.view_as(weight)


def bad_slope_with_a_graph_that_nothing_goes_through() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    reference = policy
    steepest = 0.0
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        logs = policy(x).log_softmax(1)
        with torch.no_grad():
            before = reference(x).log_softmax(1)
        far = logs - before  # cause: GS367
        loss = nn.functional.softplus(-far[:, 0] + logs[:, 2]).mean()  # effect: GS367
        (slope,) = torch.autograd.grad(loss, policy.weight, create_graph=True)
        steepest = max(steepest, slope.detach().norm().item())
        opt.zero_grad()
        loss.backward()
        opt.step()
