"""More programs of GS409: each bad one is reported at its marks, each good one by no rule."""


def bad_backbone_that_train_puts_into_eval_mode() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
            self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 1))

        def train(self, mode: bool = True) -> "Net":
            super().train(mode)
            self.backbone.eval()  # cause: GS409
            return self

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.backbone(x))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(2):
        net.train()
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()  # effect: GS409


def good_only_the_normalisation_rests() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    model[1].eval()
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
