"""More programs of GS212: each bad one is reported at its marks, each good one by no rule."""


def bad_lost_in_rounding() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1).to(torch.bfloat16)
    nn.init.constant_(model.weight, 1.0)
    nn.init.constant_(model.bias, 1.0)
    opt = torch.optim.SGD(model.parameters(), lr=1e-5)  # cause: GS212
    for _ in range(3):
        opt.zero_grad()
        model(torch.ones(8, 3, dtype=torch.bfloat16)).mean().backward()
        opt.step()  # effect: GS212


def bad_optimizer_that_binds_a_name() -> None:
    import torch
    from torch import nn

    class Descent(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            for p in self.param_groups[0]["params"]:
                p = p - 0.1 * p.grad  # cause: GS212

    model = nn.Linear(3, 1)
    opt = Descent(model.parameters(), {})
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def bad_heavy_ball_that_binds_a_name() -> None:
    import torch
    from torch import nn

    class HeavyBall(torch.optim.Optimizer):
        def __init__(self, params, lr: float, mu: float = 0.9) -> None:
            super().__init__(params, {"lr": lr, "mu": mu})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for w in group["params"]:
                    if w.grad is None:
                        continue
                    vel = self.state[w].setdefault("vel", torch.zeros_like(w))
                    vel.mul_(group["mu"]).add_(w.grad)
                    w = torch.sub(w, vel, alpha=group["lr"])  # cause: GS212

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 2))
    opt = HeavyBall(model.parameters(), lr=0.02)
    for _ in range(4):
        x = torch.rand(40, 3)
        loss = nn.functional.mse_loss(model(x), x[:, :2])
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS212


def good_heavy_ball_that_copies() -> None:
    import torch
    from torch import nn

    class HeavyBall(torch.optim.Optimizer):
        def __init__(self, params, lr: float, mu: float = 0.9) -> None:
            super().__init__(params, {"lr": lr, "mu": mu})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for w in group["params"]:
                    vel = self.state[w].setdefault("vel", torch.zeros_like(w))
                    vel.mul_(group["mu"]).add_(w.grad)
                    w.copy_(torch.sub(w, vel, alpha=group["lr"]))

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 2))
    opt = HeavyBall(model.parameters(), lr=0.02)
    for _ in range(4):
        x = torch.rand(40, 3)
        loss = nn.functional.mse_loss(model(x), x[:, :2])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_loop_that_binds_a_name() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    for _ in range(3):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS212
        with torch.no_grad():
            for p in model.parameters():
                p = p - 0.1 * p.grad  # type: ignore[assignment,operator]  # cause: GS212


def bad_local_name() -> None:
    import torch

    w = {"a": torch.ones(3, requires_grad=True), "b": torch.ones(3, requires_grad=True)}
    for _ in range(3):
        (w["a"] * torch.randn(3) + w["b"]).sum().pow(2).backward()  # effect: GS212
        with torch.no_grad():
            for name in w:
                p = w[name]
                p = p - 0.1 * p.grad  # type: ignore[operator]  # cause: GS212


def bad_written_to_a_selection() -> None:  # fix: by hand
    import torch

    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        (w * torch.randn(3)).pow(2).sum().backward()  # effect: GS212
        w.detach()[torch.arange(3)].sub_(0.1 * w.grad)  # type: ignore[operator]  # cause: GS212
        w.grad = None


def bad_inner_optimizer_of_a_checkpoint() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    class Outer(torch.optim.Optimizer):
        def __init__(self, params, inner):
            super().__init__(params, {})
            self.state["inner"] = inner

        @torch.no_grad()
        def step(self, closure=None):
            self.state["inner"].step()

    def build():
        model = nn.Linear(3, 1)
        return model, Outer(model.parameters(), torch.optim.SGD(model.parameters(), lr=0.1))

    model, opt = build()
    saved = copy.deepcopy((model.state_dict(), opt.state_dict()))
    model, opt = build()
    model.load_state_dict(saved[0])
    opt.load_state_dict(saved[1])  # cause: GS212
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def good_inner_optimizer_loaded_beside() -> None:
    import copy

    import torch
    from torch import nn

    class Outer(torch.optim.Optimizer):
        def __init__(self, params, inner):
            super().__init__(params, {})
            self.inner = inner
            self.state["steps"] = 0

        @torch.no_grad()
        def step(self, closure=None):
            self.inner.step()
            self.state["steps"] += 1

    def build():
        model = nn.Linear(3, 1)
        return model, Outer(model.parameters(), torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))

    model, opt = build()
    saved = copy.deepcopy((model.state_dict(), opt.state_dict(), opt.inner.state_dict()))
    model, opt = build()
    model.load_state_dict(saved[0])
    opt.load_state_dict(saved[1])
    opt.inner.load_state_dict(saved[2])
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_weights_clipped() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(3, 1)
    opt = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        (critic(torch.randn(8, 3)).mean() - critic(torch.randn(8, 3) + 1).mean()).backward()
        opt.step()
        for p in critic.parameters():
            p.data.clamp_(-0.1, 0.1)


def good_new_values_by_name() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    for _ in range(3):
        x = torch.randn(8, 3)
        model.zero_grad()
        model(x).pow(2).mean().backward()
        ahead = []
        with torch.no_grad():
            for p in model.parameters():
                ahead.append(p - 0.1 * p.grad)  # type: ignore[operator]
        assert torch.isfinite(nn.functional.linear(x, *ahead)).all()


def bad_state_loaded_again() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    start = copy.deepcopy(model.state_dict())
    opt = torch.optim.Adam(model.parameters())
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212
        model.load_state_dict(start)  # cause: GS212


def bad_initialised_in_the_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1, bias=False)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(4):
        nn.init.constant_(model.weight, 0.1)  # cause: GS212
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def bad_written_back() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        kept = [p.detach().clone() for p in model.parameters()]
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212
        with torch.no_grad():
            for p, old in zip(model.parameters(), kept, strict=True):
                p.copy_(old)  # cause: GS212


def bad_assigned_again() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    best = nn.utils.parameters_to_vector(model.parameters()).detach()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        nn.utils.vector_to_parameters(best.clone(), model.parameters())  # cause: GS212
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def good_adapted_and_reset() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        model.load_state_dict(start)
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            print(model(x).mean().item())


def good_adapted_after_its_prediction() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2).requires_grad_(False))
    start = {name: value.clone() for name, value in model.state_dict().items()}
    opt = torch.optim.SGD(model[0].parameters(), lr=0.1)
    for _ in range(4):
        model.load_state_dict(start)
        scores = model(torch.randn(8, 3))
        opt.zero_grad()
        torch.special.entr(scores.softmax(1)).sum().backward()
        opt.step()


def good_averaged_clients() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    common = copy.deepcopy(model.state_dict())
    for _ in range(3):
        collected = []
        for _ in range(2):
            model.load_state_dict(common)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            collected.append(copy.deepcopy(model.state_dict()))
        common = {name: (collected[0][name] + collected[1][name]) / 2 for name in common}


def good_result_kept() -> None:
    import copy
    import io

    import torch
    from torch import nn

    kept: list[object] = []
    ways = (copy.deepcopy, lambda m: torch.save(m, io.BytesIO()), lambda m: m.weight.cpu().tolist())
    for way in ways:
        model = nn.Linear(3, 1, bias=False)
        start = copy.deepcopy(model.state_dict())
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            kept.append(way(model))
            model.load_state_dict(start)


def good_warm_up() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, step / 4))
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        schedule.step()


def good_first_epoch_of_a_warm_up() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: min(1.0, epoch / 4))
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    schedule.step()


def good_ends_at_zero() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.0, total_iters=4)
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        schedule.step()


def good_one_group_at_rest() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(
        [
            {"params": model[0].parameters(), "lr": 0.0},
            {"params": model[1].parameters(), "lr": 0.1},
        ]
    )
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_a_warm_up_that_counts_from_0() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)

    def share(turn: int) -> float:
        return min(1.0, turn / 4)  # cause: GS212

    schedule = torch.optim.lr_scheduler.LambdaLR(opt, share)
    for _ in range(6):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS212
        schedule.step()


def bad_vector_of_all_is_a_copy() -> None:
    import torch
    from torch import nn
    from torch.nn.utils import parameters_to_vector

    torch.manual_seed(4)
    curve = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    weights = list(curve.parameters())
    dose = torch.linspace(-2, 2, 64)[:, None]
    for _ in range(6):
        cost = nn.functional.mse_loss(curve(dose), torch.sigmoid(3 * dose))
        slope = torch.cat([g.reshape(-1) for g in torch.autograd.grad(cost, weights)])  # effect: GS212
        with torch.no_grad():
            theta = parameters_to_vector(weights)
            theta.sub_(0.1 * slope)  # cause: GS212


def bad_joined_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(4)
    curve = nn.Linear(3, 1)
    for _ in range(6):
        curve.zero_grad()
        nn.functional.mse_loss(curve(torch.randn(8, 3)), torch.zeros(8, 1)).backward()  # effect: GS212
        with torch.no_grad():
            flat = torch.cat([p.flatten() for p in curve.parameters()])
            flat -= 0.1 * torch.cat([p.grad.flatten() for p in curve.parameters()])  # cause: GS212


def good_vector_of_all_is_written_back_or_compared() -> None:
    import torch
    from torch import nn
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    torch.manual_seed(4)
    curve, other = nn.Linear(1, 1), nn.Linear(1, 1)
    weights, dose = list(curve.parameters()), torch.linspace(-2, 2, 64)[:, None]
    flat = parameters_to_vector(other.parameters()).detach()  # is written back with the next turn
    for _ in range(6):
        vector_to_parameters(flat, other.parameters())
        cost = nn.functional.mse_loss(curve(dose), torch.sigmoid(3 * dose)) + (other(dose) - 1).pow(2).mean()
        grads = torch.autograd.grad(cost, [*weights, *other.parameters()])
        with torch.no_grad():
            theta = parameters_to_vector(weights)
            theta.sub_(0.1 * torch.cat([g.reshape(-1) for g in grads[:2]]))
            vector_to_parameters(theta, weights)
            flat = flat.clone()
            flat.sub_(0.1 * torch.cat([g.reshape(-1) for g in grads[2:]]))
            gone = parameters_to_vector(weights)
            gone.sub_(theta)
        print(gone.norm().item())
