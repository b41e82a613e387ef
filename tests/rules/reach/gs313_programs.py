"""More programs of GS313: each bad one is reported at its marks, each good one by no rule."""


def bad_generator() -> None:  # fix: by hand
    from collections.abc import Iterator

    import torch
    from torch import nn

    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)

    def batches() -> Iterator[torch.Tensor]:
        with torch.no_grad():  # cause: GS313
            for _ in range(2):
                yield encoder(torch.randn(4, 3))

    for features in batches():
        loss = head(features).pow(2).mean()
        loss.backward()  # effect: GS313


def bad_phase_that_stays_off() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for _ in range(2):
            for phase in ("train", "val"):
                model.train(phase == "train")
                if phase == "val":
                    torch.set_grad_enabled(False)  # cause: GS313
                for _ in range(2):
                    opt.zero_grad()
                    loss = model(torch.randn(8, 3)).pow(2).mean()  # effect: GS313
                    if loss.requires_grad:
                        loss.backward()
                        opt.step()
    finally:
        torch.set_grad_enabled(True)


def good_phase_that_sets_it_anew() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for phase in ("train", "val"):
            model.train(phase == "train")
            torch.set_grad_enabled(phase == "train")
            for _ in range(2):
                opt.zero_grad()
                loss = model(torch.randn(8, 3)).pow(2).mean()
                if phase == "train":
                    loss.backward()
                    opt.step()
    torch.set_grad_enabled(True)


def good_loss_module_that_stays_in_training_mode() -> None:
    import torch
    from torch import nn

    model, criterion = nn.Linear(3, 1), nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def run(training: bool) -> None:
        torch.set_grad_enabled(training)
        model.train(training)
        loss = criterion(model(torch.randn(8, 3)), torch.randn(8, 1))
        if training:
            opt.zero_grad()
            loss.backward()
            opt.step()

    for _ in range(3):
        run(True)
        run(False)
    torch.set_grad_enabled(True)


def good_mode_that_an_exit_stack_leaves() -> None:
    from contextlib import ExitStack

    import torch
    from torch import nn

    model, criterion = nn.Linear(3, 1), nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for phase in ("train", "val"):
            model.train(phase == "train")
            with ExitStack() as stack:
                if phase == "val":
                    stack.enter_context(torch.no_grad())
                opt.zero_grad()
                loss = criterion(model(torch.randn(8, 3)), torch.randn(8, 1))
                if phase == "train":
                    loss.backward()
                    opt.step()


def good_generator() -> None:
    from collections.abc import Iterator

    import torch
    from torch import nn

    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)

    def batches() -> Iterator[torch.Tensor]:
        for _ in range(2):
            with torch.no_grad():
                features = encoder(torch.randn(4, 3))
            yield features

    for features in batches():
        head(features).pow(2).mean().backward()


def good_off_at_the_end() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
    torch.set_grad_enabled(False)
    model.eval()
    assert not model(torch.randn(4, 3)).requires_grad
    torch.set_grad_enabled(True)


def bad_steps_go_on() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for step in range(8):
            opt.zero_grad()
            loss = model(torch.randn(8, 3)).pow(2).mean()  # effect: GS313
            if loss.requires_grad:
                loss.backward()
            opt.step()
            if step == 3:
                torch.set_grad_enabled(False)  # cause: GS313
                print(float(model(torch.ones(2, 3)).mean()))
    finally:
        torch.set_grad_enabled(True)


def bad_model_with_a_loss_made_in_forward() -> None:
    """What runs in a module that `forward` makes is a part of the model's call, too."""
    import torch
    from torch import Tensor, nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 2))

        def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            scores = self.layers(x)
            return nn.CrossEntropyLoss()(scores, y), scores

    def accuracy(scores: Tensor, y: Tensor) -> float:
        torch.set_grad_enabled(False)  # cause: GS313
        return float((scores.argmax(-1) == y).float().mean())

    model = Classifier()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.zeros(8, dtype=torch.long)
    try:
        for _ in range(2):
            model.train()
            opt.zero_grad()
            loss, _ = model(x, y)
            loss.backward()  # effect: GS313
            opt.step()
            model.eval()
            with torch.no_grad():
                _, scores = model(x, y)
            print(accuracy(scores, y))
    finally:
        torch.set_grad_enabled(True)


def good_steps_in_both_phases() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for phase in ("train", "val"):
        torch.set_grad_enabled(phase == "train")
        for _ in range(6):
            opt.zero_grad()
            loss = model(torch.randn(8, 3)).pow(2).mean()
            if phase == "train":
                loss.backward()
            opt.step()
    torch.set_grad_enabled(True)


def bad_steps_go_on_after_an_evaluation() -> None:
    import torch
    from torch import nn

    def evaluate(model: nn.Module) -> float:
        torch.set_grad_enabled(False)  # cause: GS313
        model.eval()
        return float(model(torch.ones(2, 3)).mean())

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for step in range(8):
            opt.zero_grad()
            loss = model(torch.randn(8, 3)).pow(2).mean()  # effect: GS313
            if loss.requires_grad:
                loss.backward()
            opt.step()
            if step == 3:
                evaluate(model)
    finally:
        torch.set_grad_enabled(True)


def good_epoch_of_evaluation_that_steps_too() -> None:
    import torch
    from torch import nn

    def epoch(model: nn.Module, opt: torch.optim.Optimizer) -> None:
        for _ in range(6):
            opt.zero_grad()
            loss = model(torch.randn(8, 3)).pow(2).mean()
            if loss.requires_grad:
                loss.backward()
            opt.step()

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    epoch(model, opt)
    model.eval()
    torch.set_grad_enabled(False)
    epoch(model, opt)
    torch.set_grad_enabled(True)
