"""More programs of GS222: each bad one is reported at its marks, each good one by no rule."""


def bad_momentum_from_a_file() -> None:
    import io

    import torch
    from torch import nn

    def build() -> tuple[nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return model, opt, torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)

    def train(
        model: nn.Module, opt: torch.optim.Optimizer, schedule: torch.optim.lr_scheduler.LRScheduler
    ) -> None:
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS222
            schedule.step()

    torch.manual_seed(0)
    parts = build()
    train(*parts)
    file = io.BytesIO()
    torch.save({"model": parts[0].state_dict(), "schedule": parts[2].state_dict()}, file)
    file.seek(0)
    kept, resumed = torch.load(file), build()
    resumed[0].load_state_dict(kept["model"])
    resumed[2].load_state_dict(kept["schedule"])  # cause: GS222
    train(*resumed)


def good_without_momentum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 4)
        if run:
            model.load_state_dict(kept["model"])
            schedule.load_state_dict(kept["schedule"])
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            schedule.step()
        kept = {"model": model.state_dict(), "schedule": schedule.state_dict()}


def good_schedule_set_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 4)
    begin = dict(schedule.state_dict())
    for _ in range(2):
        schedule.load_state_dict(begin)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            schedule.step()


def good_fine_tuned_with_a_schedule_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first = nn.Linear(3, 1)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        if run:
            model.load_state_dict(kept)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 4)
        for _ in range(3):
            opt.zero_grad()
            (model(torch.randn(8, 3)) - first(torch.randn(8, 3)).detach()).pow(2).mean().backward()
            opt.step()
            schedule.step()
        kept = model.state_dict()
