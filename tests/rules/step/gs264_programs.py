"""More programs of GS264: each bad one is reported at its marks, each good one by no rule."""


def bad_state_of_a_wrapper() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trained = nn.DataParallel(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)))
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    model.load_state_dict(trained.state_dict(), strict=False)  # cause: GS264
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_state_without_the_prefix() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.backbone(x)

    torch.manual_seed(0)
    model = Net()
    model.load_state_dict(nn.Linear(4, 1).state_dict(), strict=False)  # cause: GS264
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_checkpoint_in_place_of_its_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = {"epoch": 3, "state_dict": nn.Linear(4, 1).state_dict()}
    model = nn.Linear(4, 1)
    model.load_state_dict(kept, strict=False)  # cause: GS264
    with torch.no_grad():
        print(model(torch.ones(2, 4)).shape)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_all_but_the_head() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).state_dict()
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    model.load_state_dict(kept, strict=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_tried_with_another_prefix_then() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept = {f"encoder.{name}": t for name, t in nn.Linear(4, 1).state_dict().items()}
    model = nn.Linear(4, 1)
    for prefix in ("module.", "encoder."):
        state = {name.removeprefix(prefix): t for name, t in kept.items()}
        print(len(model.load_state_dict(state, strict=False).missing_keys))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
