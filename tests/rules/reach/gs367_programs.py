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


def bad_teacher_of_a_loss() -> None:  # fix: by hand
    import copy

    import torch
    import torch.nn.functional as F
    from torch import nn

    class Keeping:
        def __init__(self, net: nn.Module) -> None:
            self.student = net
            self.teacher = net

        def far(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                wanted = F.softmax(self.teacher(x) / 2, dim=-1)
            said = F.log_softmax(self.student(x) / 2, dim=-1)
            return F.kl_div(said, wanted, reduction="batchmean")  # cause: GS367

    torch.manual_seed(0)
    net = nn.Linear(6, 3)
    start = copy.deepcopy(net)
    kept = Keeping(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(5):
        x = torch.randn(16, 6)
        loss = F.cross_entropy(net(x), x[:, :3].argmax(1)) + 2 * kept.far(x)  # effect: GS367
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.load_state_dict(start.state_dict())


def good_teacher_that_stays() -> None:
    import copy

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 3)
    teacher = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(5):
        x = torch.randn(16, 6)
        far = F.kl_div(net(x).log_softmax(-1), teacher(x).softmax(-1), reduction="batchmean")
        far = far + F.mse_loss(net(x), teacher(x))
        loss = F.cross_entropy(net(x), x[:, :3].argmax(1)) + 2 * far
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_virtual_adversary() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(5):
        x = torch.randn(16, 6)
        with torch.no_grad():
            said = net(x).softmax(1)
        push = F.normalize(torch.randn_like(x), dim=1).requires_grad_()
        far = F.kl_div(net(x + 1e-7 * push).log_softmax(1), said, reduction="batchmean")
        (way,) = torch.autograd.grad(far, push)
        worst = F.kl_div(net(x + F.normalize(way, dim=1)).log_softmax(1), said, reduction="batchmean")
        loss = F.cross_entropy(net(x), x[:, :3].argmax(1)) + worst
        opt.zero_grad()
        loss.backward()
        opt.step()
