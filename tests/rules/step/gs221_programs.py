"""More programs of GS221: each bad one is reported at its marks, each good one by no rule."""


def bad_model_switched_on_as_a_whole() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.ModuleDict({"trunk": nn.Linear(3, 3), "head": nn.Linear(3, 1)})
    model["trunk"].requires_grad_(False)  # effect: GS221
    model.requires_grad_()  # cause: GS221
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model["head"](model["trunk"](torch.randn(8, 3)).tanh()).pow(2).mean().backward()
        opt.step()


def bad_under_a_setting() -> None:
    import torch
    from torch import nn

    def make(freeze: tuple[str, ...]) -> tuple[nn.Module, torch.optim.Optimizer]:
        model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        if freeze:
            for name, p in model.named_parameters():
                if name.startswith(freeze):
                    p.requires_grad_(False)  # effect: GS221
        decayed, plain = [], []
        for name, p in model.named_parameters():
            p.requires_grad_(True)  # cause: GS221
            (plain if name.endswith("bias") else decayed).append(p)
        groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain}]
        return model, torch.optim.SGD(groups, lr=0.1)

    torch.manual_seed(0)
    model, opt = make(("0.",))
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_frozen_for_no_epochs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    frozen_epochs = 0
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        if epoch >= frozen_epochs:
            model.requires_grad_(True)
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_all_of_a_model_made_frozen() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.head = nn.Linear(3, 3), nn.Linear(3, 1)
            for p in self.trunk.parameters():
                p.requires_grad = False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(self.trunk(x).tanh())
            return scores

    torch.manual_seed(0)
    model = Model()
    for p in model.parameters():
        p.requires_grad = True
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_those_that_are_not_named() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    for p in model[0].parameters():
        p.requires_grad = False
    for name, p in model.named_parameters():
        if name != "0.bias" or len(name) > 3:
            continue
        p.requires_grad = True
    model[2].bias.requires_grad = True
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_second_stage() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    for p in model[0].parameters():
        p.requires_grad = False
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    for p in model.parameters():
        p.requires_grad = True
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
