"""More programs of GS213: each bad one is reported at its marks, each good one by no rule."""


def bad_scaled() -> None:
    import torch

    w = torch.randn(3, requires_grad=True) * 0.1  # cause: GS213
    x = torch.randn(8, 3)
    for _ in range(3):
        (x @ w).pow(2).mean().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad  # type: ignore[operator]  # effect: GS213


def bad_rebound() -> None:  # fix: by hand
    import torch

    w, x = torch.randn(3, requires_grad=True), torch.randn(8, 3)
    for _ in range(3):
        loss = (x @ w).pow(2).mean()
        loss.backward()
        w = w - 0.1 * w.grad  # type: ignore[operator]  # cause: GS213  # effect: GS213


def bad_rebound_in_a_list() -> None:  # fix: by hand
    import torch

    params, x = [torch.randn(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)], torch.randn(8, 3)
    for _ in range(3):
        (x @ params[0] + params[1]).pow(2).mean().backward()
        params = [p - 0.1 * p.grad for p in params]  # type: ignore[operator]  # cause: GS213  # effect: GS213


def bad_attribute() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.scale = nn.Parameter(torch.ones(3)).to(torch.float64)  # cause: GS213

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.fc(x) * self.scale
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS213
        opt.step()


def bad_cast_before_the_loop() -> None:  # fix: by hand
    import torch

    w = torch.zeros(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    w = w.double()  # cause: GS213
    for _ in range(4):
        opt.zero_grad()
        (torch.randn(8, 3).double() @ w - 1).pow(2).mean().backward()  # effect: GS213
        opt.step()


def bad_parameter_cast() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    scale = nn.Parameter(torch.ones(3, dtype=torch.double)).float()  # cause: GS213
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3) * scale).pow(2).mean().backward()  # effect: GS213
        opt.step()


def good_cast_in_the_loop() -> None:
    import torch

    w = torch.zeros(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (torch.randn(8, 3).double() @ w.double() - 1).pow(2).mean().backward()
        opt.step()


def good_cast_serves_one_step() -> None:
    import torch

    w = torch.zeros(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        exact = w.double()
        for _ in range(2):
            (torch.randn(8, 3).double() @ exact - 1).pow(2).mean().backward()
        opt.step()


def good_gradient_asked_for_last() -> None:
    import torch

    w = (torch.randn(3) * 0.1).double().requires_grad_()
    opt = torch.optim.SGD([w], lr=0.1)
    x = torch.randn(8, 3, dtype=torch.float64)
    for _ in range(3):
        opt.zero_grad()
        (x @ w).pow(2).mean().backward()
        opt.step()


def good_updated_in_place() -> None:
    import torch

    w, x = torch.randn(3, requires_grad=True), torch.randn(8, 3)
    for _ in range(3):
        (x @ w).pow(2).mean().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad  # type: ignore[operator]
            w.grad = None


def good_inner_loop() -> None:
    import torch

    w, x = torch.randn(3, requires_grad=True), torch.randn(8, 3)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        fast = w
        for _ in range(2):
            (gradient,) = torch.autograd.grad((x @ fast).pow(2).mean(), [fast], create_graph=True)
            fast = fast - 0.1 * gradient
        opt.zero_grad()
        (x @ fast).pow(2).mean().backward()
        opt.step()


def good_computed_in_each_forward() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.raw = nn.Parameter(torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.scale = self.raw.exp()
            return x * self.scale

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_gradient_read_at_two_lines() -> None:
    import torch

    w = torch.rand(3, requires_grad=True) * 0.1  # cause: GS213
    x = torch.linspace(-1, 1, 50)
    ((w[0] * x * x + w[1] * x + w[2] - 2 * x) ** 2).mean().backward()
    print(w.grad)  # effect: GS213
    if w.grad is not None:
        with torch.no_grad():
            w -= 0.1 * w.grad


def bad_leaf_bound_anew_in_another_shape() -> None:
    import torch

    class Fit:
        def __init__(self) -> None:
            self.coef = torch.rand(3).requires_grad_()
            self.coef = self.coef.view(-1, 1)  # cause: GS213

        def update(self, rate: float) -> None:
            grad = self.coef.grad  # effect: GS213
            if grad is None:
                return
            with torch.no_grad():
                self.coef -= rate * grad
            grad.zero_()

    torch.manual_seed(0)
    x = torch.randn(32, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    fit = Fit()
    for _ in range(20):
        (x @ fit.coef - y).pow(2).mean().backward()
        fit.update(0.1)


def good_leaf_viewed_where_it_is_used() -> None:
    import torch

    class Fit:
        def __init__(self) -> None:
            self.coef = torch.rand(3).requires_grad_()

        def update(self, rate: float) -> None:
            grad = self.coef.grad
            if grad is None:
                return
            with torch.no_grad():
                self.coef -= rate * grad
            grad.zero_()

    torch.manual_seed(0)
    x = torch.randn(32, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    fit = Fit()
    for _ in range(20):
        (x @ fit.coef.view(-1, 1) - y).pow(2).mean().backward()
        fit.update(0.1)


def bad_two_bound_anew_under_no_grad() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(32, 3)
    y = x.sum(1, keepdim=True)
    w, b = torch.zeros(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(4):
        loss = (torch.einsum("nd,dk->nk", x, w) + b - y).pow(2).mean()
        loss.backward()  # effect: GS213
        with torch.no_grad():
            w = w - 0.1 * w.grad  # type: ignore[operator]  # cause: GS213
            b = b - 0.1 * b.grad  # type: ignore[operator]
        if w.grad is not None and b.grad is not None:
            w.grad = b.grad = None


def bad_attributes_bound_anew_in_a_method() -> None:
    import torch

    class Line:
        def __init__(self) -> None:
            self.slope = torch.zeros(1, requires_grad=True)
            self.level = torch.zeros(1, requires_grad=True)

        @torch.no_grad()
        def update(self, rate: float) -> None:
            self.slope = self.slope - rate * self.slope.grad  # type: ignore[operator]  # cause: GS213
            self.level = self.level - rate * self.level.grad  # type: ignore[operator]

    torch.manual_seed(0)
    x, line = torch.randn(32), Line()
    for _ in range(3):
        loss = (line.slope * x + line.level - 2 * x).abs().mean()
        loss.backward()  # effect: GS213
        line.update(0.05)


def bad_bound_anew_by_two_differences() -> None:  # fix: by hand
    import torch

    torch.manual_seed(0)
    x = torch.randn(32, 3)
    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        loss = (x @ w - x.sum(1)).pow(2).mean()
        loss.backward()  # effect: GS213
        with torch.no_grad():
            w = w - 0.1 * w.grad - 0.01 * w  # type: ignore[operator]  # cause: GS213


def good_bound_anew_and_asked_for_a_gradient() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(32, 3)
    y = x.sum(1, keepdim=True)
    w, b = torch.zeros(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(4):
        (x @ w + b - y).pow(2).mean().backward()
        with torch.no_grad():
            w = w - 0.1 * w.grad  # type: ignore[operator]
            b = b - 0.1 * b.grad  # type: ignore[operator]
        w.requires_grad_()
        b.requires_grad_()


def good_trial_of_a_step_under_no_grad() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(32, 3)
    w = torch.ones(3, requires_grad=True)
    for _ in range(4):
        (x @ w - x.sum(1)).pow(2).mean().backward()
        kept = w
        with torch.no_grad():
            w = w - 0.1 * w.grad  # type: ignore[operator]
            shown = (x @ w - x.sum(1)).pow(2).mean()
        assert float(shown) >= 0
        w = kept
        with torch.no_grad():
            w -= 0.05 * w.grad  # type: ignore[operator]
            w.grad = None
