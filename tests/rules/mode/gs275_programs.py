"""More programs of GS275: each bad one is reported at its marks, each good one by no rule."""


def bad_function_that_is_applied() -> None:
    import torch
    from torch import nn

    def fix_bn(m: nn.Module) -> None:
        if isinstance(m, nn.BatchNorm1d):
            m.eval()  # effect: GS275

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    net.apply(fix_bn)
    for _ in range(2):
        net.train()  # cause: GS275
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            net(torch.randn(8, 4)).pow(2).mean().item()


def good_function_that_is_applied_after_it() -> None:
    import torch
    from torch import nn

    def fix_bn(m: nn.Module) -> None:
        if isinstance(m, nn.BatchNorm1d):
            m.eval()

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(2):
        net.train()
        net.apply(fix_bn)
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            net(torch.randn(8, 4)).pow(2).mean().item()


def good_whole_model() -> None:
    """As many write it: the loader evaluates, the loop trains."""
    import torch
    from torch import nn

    def loaded() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)).eval()

    torch.manual_seed(0)
    net = loaded()
    net.train()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(6):
        opt.zero_grad()
        (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()


def good_frozen_for_the_first_epochs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(4):
        net.train()
        if epoch < 2:
            net[1].eval()
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()


def good_train_that_keeps_them() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.body(x)
            return out

        def train(self, mode: bool = True) -> "Net":
            super().train(mode)
            for m in self.modules():
                if isinstance(m, nn.BatchNorm1d):
                    m.eval()
            return self

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(2):
        net.train()
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()


def good_layer_that_is_thawed_by_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    net[1].eval()
    net[1].train()
    for _ in range(6):
        opt.zero_grad()
        (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
