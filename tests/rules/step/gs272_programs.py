"""More programs of GS272: each bad one is reported at its marks, each good one by no rule."""


def bad_head_with_a_rate_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.body(x).relu())

    def make(net: Net) -> torch.optim.Optimizer:
        body, head = net.body.parameters(), net.head.parameters()
        sizes = [p.numel() for p in head]
        print("head:", sum(sizes))
        return torch.optim.Adam([{"params": body}, {"params": head, "lr": 0.01}], lr=0.001)  # cause: GS272

    net = Net()
    opt = make(net)
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(2, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()  # effect: GS272
        opt.step()


def good_group_that_is_filled_later() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD([{"params": []}], lr=0.1)
    opt.add_param_group({"params": net.parameters(), "lr": 0.05})
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(2, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()


def good_no_weights_without_decay() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8, bias=False), nn.ReLU(), nn.Linear(8, 2, bias=False))
    plain = [p for name, p in net.named_parameters() if name.endswith("bias")]
    decayed = [p for name, p in net.named_parameters() if not name.endswith("bias")]
    opt = torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}], lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(2, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
