"""More programs of GS277: each bad one is reported at its marks, each good one by no rule."""


def bad_weight_norm_updated_by_name() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.utils.parametrizations.weight_norm(nn.Linear(3, 8))
            self.last = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(torch.tanh(self.first(x)))

    torch.manual_seed(0)
    net = Net()
    for _ in range(10):
        x = torch.randn(32, 3)
        (net(x) - x[:, :1]).pow(2).mean().backward()
        with torch.no_grad():
            for layer in (net.first, net.last):
                for tensor in (layer.weight, layer.bias):
                    if tensor.grad is not None:
                        tensor.sub_(tensor.grad, alpha=0.1)  # cause: GS277
                        tensor.grad.zero_()


def good_only_the_head_is_trained_and_all_are_cleared() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    net[0].load_state_dict(nn.Linear(3, 8).state_dict())
    for _ in range(10):
        x = torch.randn(32, 3)
        net.zero_grad()
        (net(x) - x[:, :1]).pow(2).mean().backward()
        with torch.no_grad():
            for p in net[2].parameters():
                p -= 0.1 * p.grad


def good_all_parameters_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 8)), nn.Tanh(), nn.Linear(8, 1))
    for _ in range(10):
        x = torch.randn(32, 3)
        (net(x) - x[:, :1]).pow(2).mean().backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
                p.grad.zero_()
