"""More programs of GS461: each bad one is reported at its marks, each good one by no rule."""


def bad_by_a_helper() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Loss:
        def __init__(self, opt: torch.optim.Optimizer | None = None) -> None:
            self.opt = opt

        def __call__(self, scores: torch.Tensor, labels: torch.Tensor) -> float:
            loss = nn.functional.cross_entropy(scores, labels)
            loss.backward()  # cause: GS461
            if self.opt is not None:
                self.opt.step()
                self.opt.zero_grad()
            return loss.item()

    def epoch(model: nn.Module, x: torch.Tensor, y: torch.Tensor, criterion: Loss) -> float:
        return sum(criterion(model(x[at]), y[at]) for at in torch.arange(len(x)).split(8))

    x, y, x_val, y_val = (
        torch.randn(32, 4),
        torch.randint(2, (32,)),
        torch.randn(32, 4),
        torch.randint(2, (32,)),
    )
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(4):
        net.train()
        epoch(net, x, y, Loss(opt))
        net.eval()
        epoch(net, x_val, y_val, Loss())  # effect: GS461


def good_cleared_before_each_pass() -> None:
    """A picture of what the network looks at is made of gradients, which the training clears."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        net.train()
        for at in torch.randperm(32).split(8):
            opt.zero_grad()
            nn.functional.mse_loss(net(x[at]), y[at]).backward()
            opt.step()
        net.eval()
        for row in x[:3]:
            seen = row.clone().requires_grad_()
            net(seen).sum().backward()
            print(seen.grad.abs().sum().item() > 0 if seen.grad is not None else None)


def good_a_penalty_now_and_then() -> None:
    """Every fourth step has a term more, which is computed without dropout."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(16):
        at = torch.randint(64, (8,))
        opt.zero_grad()
        if step % 4 == 3:
            net.eval()
            (0.1 * net(x[at]).pow(2).mean()).backward()
            net.train()
        nn.functional.mse_loss(net(x[at]), y[at]).backward()
        opt.step()
