"""More programs of GS111: each bad one is reported at its marks, each good one by no rule."""


def bad_activation_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Unit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.LeakyReLU(0.2, True)
            self.one, self.two = nn.Conv1d(4, 4, 3, padding=1), nn.Conv1d(4, 4, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            identity = x
            out = self.act(x)  # cause: GS111
            out = self.one(out)
            out = self.act(out)
            out = self.two(out)
            out += identity  # effect: GS111
            return out

    model = nn.Sequential(nn.Conv1d(2, 4, 3, padding=1), Unit(), Unit(), nn.Flatten(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(6, 2, 8)).pow(2).mean().backward()
        opt.step()


def bad_functional() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)

    def block(x: torch.Tensor) -> torch.Tensor:
        y = inner(F.elu(x, inplace=True))  # cause: GS111
        return y + x  # effect: GS111

    for _ in range(2):
        opt.zero_grad()
        head(block(stem(torch.randn(8, 3)))).pow(2).mean().backward()
        opt.step()


def bad_in_one_expression() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Residual(nn.Module):
        def __init__(self, branch: nn.Module) -> None:
            super().__init__()
            self.branch = branch

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.branch(x)  # cause: GS111 # effect: GS111

    def branch() -> nn.Sequential:
        return nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4))

    model = nn.Sequential(nn.Linear(3, 4), Residual(branch()), Residual(branch()), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_helper_that_writes() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    stem, inner, head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*stem.parameters(), *inner.parameters(), *head.parameters()], lr=0.1)

    def centred(x: torch.Tensor) -> torch.Tensor:
        x -= x.mean(-1, keepdim=True)
        return inner(x)

    def block(x: torch.Tensor) -> torch.Tensor:
        y = centred(x)  # cause: GS111
        return x + 0.1 * y  # effect: GS111

    for _ in range(2):
        opt.zero_grad()
        head(block(stem(torch.randn(8, 3)))).pow(2).mean().backward()
        opt.step()


def good_activated_on_purpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Chained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU(inplace=True)
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            top = self.act(x)
            x = top + self.one(top)
            self.act(x)
            x = x + self.two(x)
            x = self.act(x)
            return x + self.one(x)

    model = nn.Sequential(nn.Linear(3, 4), Chained(), Chained(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_after_the_sum() -> None:
    """Blocks as in a ResNet: in place where nothing else reads, and one block without a skip path."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self, skip: bool) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
            self.norm = nn.BatchNorm1d(4)
            self.relu, self.skip = nn.ReLU(inplace=True), skip

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.two(self.relu(self.norm(self.one(x))))
            if self.skip:
                out += x
            return self.relu(out)

    class Early(nn.Module):
        def __init__(self, skip: bool) -> None:
            super().__init__()
            self.one, self.act, self.skip = nn.Linear(4, 4), nn.Hardswish(inplace=True), skip

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.act(self.one(x))
            return out + x if self.skip else out

    model = nn.Sequential(nn.Linear(3, 4), Block(True), Block(False), Block(True), Early(False), Early(True))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_never_negative_before() -> None:
    """What has been through a ReLU is the same after another one."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.body(x)

    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.2), Block(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_copied_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            identity = x.clone()
            return self.body(x) + identity

    model = nn.Sequential(nn.Linear(3, 4), Block(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
