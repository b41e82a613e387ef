"""More programs of GS222: each bad one is reported at its marks, each good one by no rule."""


def bad_momentum_from_a_file() -> None:  # fix: by hand
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


def bad_optimizer_made_after_the_load() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)

    def train(model: nn.Module, opt: torch.optim.Optimizer) -> None:
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS222

    first = nn.Linear(3, 1)
    opt = torch.optim.Adam(first.parameters(), lr=0.01)
    train(first, opt)
    kept = copy.deepcopy({"model": first.state_dict(), "opt": opt.state_dict()})

    model = nn.Linear(3, 1)
    model.load_state_dict(kept["model"])
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    opt.load_state_dict(kept["opt"])
    opt = torch.optim.Adam(model.parameters(), lr=0.01)  # cause: GS222
    train(model, opt)


def bad_holder_that_makes_its_optimizer_last() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)

    class Optim:
        def __init__(self) -> None:
            self.inner: torch.optim.Optimizer | None = None

        def set_parameters(self, model: nn.Module) -> None:
            self.inner = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)  # cause: GS222

        def load(self, kept: dict[str, object]) -> None:
            if self.inner is None:
                self.inner = kept["optimizer"]
            self.inner.load_state_dict(kept["state"])

        def step(self) -> None:
            self.inner.step()  # effect: GS222

    def build(model: nn.Module, kept: dict[str, object] | None) -> Optim:
        optim = Optim()
        if kept is not None:
            optim.load(kept)
        optim.set_parameters(model)
        return optim

    def train(model: nn.Module, optim: Optim) -> None:
        for _ in range(3):
            model.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            optim.step()

    model = nn.Linear(3, 1)
    optim = build(model, None)
    train(model, optim)
    kept = copy.deepcopy({"optimizer": optim.inner, "state": optim.inner.state_dict()})
    resumed = nn.Linear(3, 1)
    resumed.load_state_dict(copy.deepcopy(model.state_dict()))
    train(resumed, build(resumed, kept))


def good_loaded_into_the_one_that_steps() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    kept: dict[str, object] = {}
    for run in range(3):
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        if run:
            opt.load_state_dict(kept)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        kept = copy.deepcopy(opt.state_dict())


def good_tuned_anew_from_the_best() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    best = copy.deepcopy({"model": model.state_dict(), "opt": opt.state_dict()})
    for step in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        if step == 1:
            best = copy.deepcopy({"model": model.state_dict(), "opt": opt.state_dict()})
    model.load_state_dict(best["model"])
    opt.load_state_dict(best["opt"])
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_another_model_after_a_look_at_a_checkpoint() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)

    def train(model: nn.Module, rate: float) -> torch.optim.Optimizer:
        opt = torch.optim.Adam(model.parameters(), lr=rate)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        return opt

    first = nn.Linear(3, 1)
    opt = train(first, 0.01)
    kept = copy.deepcopy({"model": first.state_dict(), "opt": opt.state_dict()})
    shown = nn.Linear(3, 1)
    shown.load_state_dict(kept["model"])
    seen = torch.optim.Adam(shown.parameters(), lr=0.01)
    seen.load_state_dict(kept["opt"])
    assert len(seen.state) == 2
    train(nn.Linear(3, 1), 0.01)  # from the beginning
    train(shown, 0.001)  # tuned, at a rate of its own


def bad_state_left_in_the_checkpoint() -> None:
    import io
    from typing import Any

    import torch
    from torch import nn

    def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(model.parameters(), lr=0.01)

    kept = io.BytesIO()
    for part in range(2):
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        adam = optimizer_of(net)  # cause: GS222
        begin = 0
        if part:
            kept.seek(0)
            loaded: dict[str, Any] = torch.load(kept)
            net.load_state_dict(loaded["net"])
            begin = loaded["epoch"] + 1
        for epoch in range(begin, begin + 3):
            for _ in range(4):
                adam.zero_grad()
                net(torch.randn(8, 3)).pow(2).mean().backward()
                adam.step()  # effect: GS222
            kept.seek(0)
            torch.save({"net": net.state_dict(), "adam": adam.state_dict(), "epoch": epoch}, kept)


def bad_states_of_both_left_in_the_checkpoint() -> None:
    import io
    from typing import Any

    import torch
    from torch import nn

    saved = io.BytesIO()
    for stage in range(2):
        student = nn.Linear(3, 1)
        sgd = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)  # cause: GS222
        falling = torch.optim.lr_scheduler.StepLR(sgd, 2)
        start = 0
        if stage:
            saved.seek(0)
            state: dict[str, Any] = torch.load(saved)
            student.load_state_dict(state["student"])
            start = state["epochs"]
        for _ in range(start, 3 * (stage + 1)):
            sgd.zero_grad()
            student(torch.randn(8, 3)).pow(2).mean().backward()
            sgd.step()  # effect: GS222
            falling.step()
        saved.seek(0)
        torch.save(
            {
                "student": student.state_dict(),
                "sgd": sgd.state_dict(),
                "falling": falling.state_dict(),
                "epochs": 3 * (stage + 1),
            },
            saved,
        )


def good_tuned_from_a_checkpoint_with_all_in_it() -> None:
    """Epochs are counted from the first again."""
    import io
    from typing import Any

    import torch
    from torch import nn

    store = io.BytesIO()
    for stage in range(2):
        tuned = nn.Linear(3, 1)
        own = torch.optim.Adam(tuned.parameters(), lr=0.01)
        if stage:
            store.seek(0)
            found: dict[str, Any] = torch.load(store)
            tuned.load_state_dict(found["tuned"])
            print("weights of epoch", found["epoch"])
        for _ in range(4):
            own.zero_grad()
            tuned(torch.randn(8, 3)).pow(2).mean().backward()
            own.step()
        store.seek(0)
        torch.save({"tuned": tuned.state_dict(), "own": own.state_dict(), "epoch": 4}, store)


def good_all_of_a_checkpoint_taken_along() -> None:
    import io
    from typing import Any

    import torch
    from torch import nn

    store = io.BytesIO()
    for stage in range(2):
        resumed = nn.Linear(3, 1)
        fresh = torch.optim.Adam(resumed.parameters(), lr=0.01)
        first = 0
        if stage:
            store.seek(0)
            whole: dict[str, Any] = torch.load(store)
            resumed.load_state_dict(whole["model"])
            fresh.load_state_dict(whole["optimizer"])
            first = whole["epoch"]
        for _ in range(first, first + 4):
            fresh.zero_grad()
            resumed(torch.randn(8, 3)).pow(2).mean().backward()
            fresh.step()
        store.seek(0)
        torch.save(
            {"model": resumed.state_dict(), "optimizer": fresh.state_dict(), "epoch": first + 4}, store
        )


def bad_load_before_there_is_an_optimizer() -> None:  # fix: by hand
    import io
    from typing import Any

    import torch
    from torch import nn

    file = io.BytesIO()

    class Trainer:
        def __init__(self) -> None:
            self.net = nn.Linear(3, 1)
            self.optimizer: torch.optim.Optimizer | None = None
            self.epoch = 0

        def resume(self) -> None:
            file.seek(0)
            found: dict[str, Any] = torch.load(file)
            self.net.load_state_dict(found["net"])
            if self.optimizer is not None:
                self.optimizer.load_state_dict(found["optimizer"])  # cause: GS222
            self.epoch = found["epoch"]

        def train(self, until: int) -> None:
            self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)
            for _ in range(self.epoch, until):
                self.optimizer.zero_grad()
                self.net(torch.randn(8, 3)).pow(2).mean().backward()
                self.optimizer.step()  # effect: GS222
            state = {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": until}
            file.seek(0)
            torch.save(state, file)

    Trainer().train(6)
    second = Trainer()
    second.resume()
    second.train(12)


def bad_load_that_is_given_no_optimizer() -> None:
    import io
    from typing import Any

    import torch
    from torch import nn

    def load(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> Any:
        file.seek(0)
        found: dict[str, Any] = torch.load(file)
        model.load_state_dict(found["model"])
        if optimizer is not None:
            optimizer.load_state_dict(found["optimizer"])
        return found["step"]

    def train(model: nn.Module, optimizer: torch.optim.Optimizer, start: int, stop: int) -> None:
        for _ in range(start, stop):
            optimizer.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            optimizer.step()  # effect: GS222

    file = io.BytesIO()
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train(model, optimizer, 0, 6)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 6}, file)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    start = load(model)  # cause: GS222
    train(model, optimizer, start, 12)


def good_load_for_an_evaluation() -> None:
    import io
    from typing import Any

    import torch
    from torch import nn

    def restored(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> Any:
        file.seek(0)
        found: dict[str, Any] = torch.load(file)
        model.load_state_dict(found["model"])
        if optimizer is not None:
            optimizer.load_state_dict(found["optimizer"])
        return found["step"]

    file = io.BytesIO()
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 6}, file)
    copy = nn.Linear(3, 1)
    restored(copy)
    with torch.no_grad():
        copy(torch.randn(8, 3))


def bad_scaler_begins_anew() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    def run(saved: dict[str, Any], steps: int) -> dict[str, Any]:
        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)  # type: ignore[attr-defined]
        if saved:
            model.load_state_dict(saved["model"])
            opt.load_state_dict(saved["optimizer"])  # cause: GS222
        for _ in range(steps):
            x = torch.randn(8, 4)
            with torch.autocast("cpu", dtype=torch.float16):
                out = model(x)
            loss = nn.functional.mse_loss(out.float(), 90 * x.sum(1, keepdim=True))
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)  # effect: GS222
            scaler.update()
        return {"model": model.state_dict(), "optimizer": opt.state_dict()}

    run(run({}, 24), 24)


def good_scaler_goes_on() -> None:
    from typing import Any

    import torch
    from torch import nn

    def run(saved: dict[str, Any], steps: int) -> dict[str, Any]:
        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)  # type: ignore[attr-defined]
        if saved:
            model.load_state_dict(saved["model"])
            opt.load_state_dict(saved["optimizer"])
            scaler.load_state_dict(saved["scaler"])
        for _ in range(steps):
            x = torch.randn(8, 4)
            with torch.autocast("cpu", dtype=torch.float16):
                out = model(x)
            loss = nn.functional.mse_loss(out.float(), 90 * x.sum(1, keepdim=True))
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        return {"model": model.state_dict(), "optimizer": opt.state_dict(), "scaler": scaler.state_dict()}

    run(run({}, 24), 24)


def good_a_new_model_between_two_that_were_saved() -> None:
    """The saved one is an end point of a curve: what trains is a copy's neighbour, from the start."""
    import io

    import torch
    from torch import nn

    torch.manual_seed(0)
    first = nn.Linear(4, 2)
    opt = torch.optim.SGD(first.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        opt.zero_grad()
        first(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    file = io.BytesIO()
    torch.save({"epoch": 3, "model": first.state_dict(), "opt": opt.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file)
    end, bend = nn.Linear(4, 2), nn.Linear(4, 2)
    end.load_state_dict(saved["model"])
    opt = torch.optim.SGD(bend.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (bend(x) + end(x).detach()).pow(2).mean().backward()
        opt.step()
