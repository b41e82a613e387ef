"""More programs of GS247: each bad one is reported at its marks, each good one by no rule."""


def bad_whole_gradients() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Descent(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float = 0.05, momentum: float = 0.9) -> None:
            super().__init__(params, {"lr": lr, "momentum": momentum})

        @torch.no_grad()
        def step(self, closure: object = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    if group["momentum"] > 0:
                        self.state[p]["velocity"] = torch.zeros_like(p)  # cause: GS247
                        velocity = self.state[p]["velocity"]
                        velocity.mul_(group["momentum"]).add_(p.grad)
                        p.add_(velocity, alpha=-group["lr"])

    model = nn.Linear(4, 2)
    opt = Descent(model.parameters())
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()  # effect: GS247


def good_last_gradient_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Signs(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float = 0.01, shrink: float = 0.5) -> None:
            super().__init__(params, {"lr": lr, "shrink": shrink})

        @torch.no_grad()
        def step(self, closure: object = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if len(state) == 0:
                        state["before"] = torch.zeros_like(p)
                    same = state["before"] * p.grad > 0
                    p.sub_(p.grad.sign() * torch.where(same, group["lr"], group["lr"] * group["shrink"]))
                    state["before"].copy_(p.grad)

    model = nn.Linear(4, 2)
    opt = Signs(model.parameters())
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()


def good_one_batch_all_the_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Descent(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float = 0.05, momentum: float = 0.5) -> None:
            super().__init__(params, {"lr": lr, "momentum": momentum})

        @torch.no_grad()
        def step(self, closure: object = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "velocity" not in state:
                        state["velocity"] = torch.zeros_like(p)
                    state["velocity"] = group["momentum"] * state["velocity"] + p.grad
                    p.add_(state["velocity"], alpha=-group["lr"])

    model, x = nn.Linear(1, 1, bias=False), torch.randn(8, 1)
    opt = Descent(model.parameters())
    for _ in range(8):
        opt.zero_grad()
        (model(x) - x).pow(2).mean().backward()
        opt.step()


def good_update_is_kept_for_a_log() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Plain(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float = 0.1, decay: float = 0.9) -> None:
            super().__init__(params, {"lr": lr, "decay": decay})

        @torch.no_grad()
        def step(self, closure: object = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "update" not in state:
                        state["update"] = torch.zeros_like(p)
                    state["update"].copy_(p.grad).mul_(-group["lr"])
                    p.add_(state["update"])

    model = nn.Linear(4, 2)
    opt = Plain(model.parameters())
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()


def bad_whole_state_begun_anew() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Lookback(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float, beta: float) -> None:
            super().__init__(params, {"lr": lr, "beta": beta})  # type: ignore[arg-type]

        def begin(self, weight: torch.Tensor) -> None:
            self.state[weight] = {"ema": torch.full_like(weight, 0.0), "turn": 0}  # cause: GS247

        @torch.no_grad()
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for weight in group["params"]:
                    self.begin(weight)
                    memory = self.state[weight]
                    memory["turn"] += 1
                    memory["ema"].lerp_(weight.grad, 1 - group["beta"])
                    weight.sub_(group["lr"] * memory["ema"])

    model = nn.Linear(4, 2)
    opt = Lookback(model.parameters(), lr=0.1, beta=0.9)
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()  # effect: GS247


def good_whole_state_begun_once() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Lookback(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float, beta: float) -> None:
            super().__init__(params, {"lr": lr, "beta": beta})  # type: ignore[arg-type]

        @torch.no_grad()
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for weight in group["params"]:
                    memory = self.state[weight]
                    if not memory:
                        memory.update(ema=torch.zeros_like(weight), turn=0)
                    memory["turn"] += 1
                    memory["ema"].lerp_(weight.grad, 1 - group["beta"])
                    weight.sub_(group["lr"] * memory["ema"])

    model = nn.Linear(4, 2)
    opt = Lookback(model.parameters(), lr=0.1, beta=0.9)
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()


def bad_one_batch_all_the_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Descent(torch.optim.Optimizer):
        def __init__(self, params: object, lr: float, momentum: float) -> None:
            super().__init__(params, {"lr": lr, "momentum": momentum})  # type: ignore[arg-type]

        @torch.no_grad()
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["mean"] = p.new_zeros(p.shape)  # cause: GS247
                    state["mean"].lerp_(p.grad, 1 - group["momentum"])
                    p.sub_(group["lr"] * state["mean"])

    model = nn.Linear(4, 2)
    opt = Descent(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(8, 4)
    for _ in range(12):
        opt.zero_grad()
        (model(x) - x[:, :2]).pow(2).mean().backward()
        opt.step()  # effect: GS247
