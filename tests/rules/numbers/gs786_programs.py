"""More programs of GS786: each bad one is reported at its marks, each good one by no rule."""


def bad_weight_of_a_term() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    def objective(error: torch.Tensor, w: torch.Tensor, beta: float) -> torch.Tensor:  # cause: GS786
        return error + w.square().mean()

    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(8, 4)
        error = nn.functional.mse_loss(model(x), x.flip(1))
        loss = objective(error, model.weight, min(1.0, step / 4))  # effect: GS786
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_left_at_its_default() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, strength: float = 1.0) -> torch.Tensor:
            return self.net(x) * strength

    class Ramped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scaled = Scaled()
            self.head = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor, ramp: float = 1.0) -> torch.Tensor:
            return self.head(self.scaled(x))  # cause: GS786

    model = Ramped()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        out = model(torch.randn(8, 4), step / 5)  # effect: GS786
        opt.zero_grad()
        out.square().mean().backward()
        opt.step()


def bad_overwritten_by_random_weights() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, maker = nn.Linear(4, 1), nn.Linear(4, 4)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)

    def penalty(real: torch.Tensor, made: torch.Tensor, share: float) -> torch.Tensor:
        share = torch.rand(len(real), 1)  # cause: GS786
        between = (share * real + (1 - share) * made).requires_grad_()
        (grad,) = torch.autograd.grad(critic(between).mul(share).sum(), between, create_graph=True)
        return (grad.norm(dim=1) - 1).pow(2).mean()

    for step in range(5):
        real, made = torch.randn(8, 4) + 1, maker(torch.randn(8, 4)).detach()
        loss = critic(made).mean() - critic(real).mean() + penalty(real, made, step / 5)  # effect: GS786
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_an_interface() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Plain(nn.Module):
        def __init__(self, width: int = 4) -> None:
            super().__init__()
            self.width = width  # for those who look at the model
            self.net = nn.Linear(width, 4)

        def forward(self, x: torch.Tensor, _time: float) -> torch.Tensor:
            return self.net(x)

    class Logger:
        def note(self, step: int, loss: float) -> None:
            return None

    class Counter:
        def __init__(self) -> None:
            self.steps = 0

        def note(self, step: int, loss: float) -> None:
            self.steps = step

    model = Plain(4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    watchers: list[Logger | Counter] = [Logger(), Counter()]
    for step in range(5):
        loss = model(torch.randn(8, 4), step / 5).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for watcher in watchers:
            watcher.note(step, loss.item())


def bad_the_objects_own_in_place_of_the_argument() -> None:
    import torch
    from torch import nn

    class Learner:
        def __init__(self) -> None:
            self.tau = 0.1
            self.model, self.target = nn.Linear(3, 1), nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def follow(self, tau: float | None = None) -> None:
            tau = self.tau if tau is None else tau
            with torch.no_grad():
                for slow, fast in zip(self.target.parameters(), self.model.parameters(), strict=True):
                    slow.lerp_(fast, self.tau)  # cause: GS786

    learner = Learner()
    learner.follow(tau=1.0)  # effect: GS786
    for _ in range(5):
        x = torch.randn(8, 3)
        loss = (learner.model(x) - learner.target(x).detach() - 1).pow(2).mean()
        learner.opt.zero_grad()
        loss.backward()
        learner.opt.step()
        learner.follow()


def good_the_argument_goes_before_the_objects_own() -> None:
    import torch
    from torch import nn

    class Follower:
        def __init__(self) -> None:
            self.rate = 0.1
            self.model, self.target = nn.Linear(3, 1), nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def keep_up(self, rate: float | None = None) -> None:
            if rate is None:
                rate = self.rate
            with torch.no_grad():
                for slow, fast in zip(self.target.parameters(), self.model.parameters(), strict=True):
                    slow.lerp_(fast, rate)

    learner = Follower()
    learner.keep_up(rate=1.0)
    for _ in range(5):
        x = torch.randn(8, 3)
        loss = (learner.model(x) - learner.target(x).detach() - 1).pow(2).mean()
        learner.opt.zero_grad()
        loss.backward()
        learner.opt.step()
        learner.keep_up()


def bad_mask_that_the_softmax_goes_past() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            scores = self.score(x).squeeze(2)
            weights = torch.softmax(scores, dim=1)  # cause: GS786
            return (weights.unsqueeze(2) * x).sum(1)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.pool, self.head = nn.Embedding(9, 4), Pool(), nn.Linear(4, 2)

        def forward(self, words: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            h = self.embed(words)
            y: torch.Tensor = self.head(self.pool(h, mask))  # effect: GS786
            return y

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        words = torch.randint(1, 9, (6, 5))
        words[:3, 1::2] = 0
        loss = nn.functional.cross_entropy(model(words, words != 0), words[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_before_the_softmax() -> None:
    import torch
    from torch import nn

    class MaskedPool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            scores = self.score(x).squeeze(2)
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            weights = torch.softmax(scores, dim=1)
            return (weights.unsqueeze(2) * x).sum(1)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.pool, self.head = nn.Embedding(9, 4), MaskedPool(), nn.Linear(4, 2)

        def forward(self, words: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            h = self.embed(words)
            y: torch.Tensor = self.head(self.pool(h, mask))
            return y

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        words = torch.randint(1, 9, (6, 5))
        words[:3, 1::2] = 0
        loss = nn.functional.cross_entropy(model(words, words != 0), words[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_left_out() -> None:
    import torch
    from torch import nn

    class OpenPool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            scores = self.score(x).squeeze(2)
            weights = torch.softmax(scores, dim=1)
            return (weights.unsqueeze(2) * x).sum(1)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.pool, self.head = nn.Embedding(9, 4), OpenPool(), nn.Linear(4, 2)

        def forward(self, words: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            h = self.embed(words)
            y: torch.Tensor = self.head(self.pool(h, mask))
            return y

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        words = torch.randint(1, 9, (6, 5))
        words[:3, 1::2] = 0
        loss = nn.functional.cross_entropy(model(words), words[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_that_the_model_applies_itself() -> None:
    import torch
    from torch import nn

    class BarePool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            scores = self.score(x).squeeze(2)
            weights = torch.softmax(scores, dim=1)
            return (weights.unsqueeze(2) * x).sum(1)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.pool, self.head = nn.Embedding(9, 4), BarePool(), nn.Linear(4, 2)

        def forward(self, words: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            h = self.embed(words)
            h = h if mask is None else h * mask.unsqueeze(2)
            y: torch.Tensor = self.head(self.pool(h, mask))
            return y

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        words = torch.randint(1, 9, (6, 5))
        words[:3, 1::2] = 0
        loss = nn.functional.cross_entropy(model(words, words != 0), words[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_argument_of_a_part_for_its_interface() -> None:
    import torch
    from torch import nn

    class PlainPool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            scores = self.score(x).squeeze(2)
            weights = torch.softmax(scores, dim=1)
            return (weights.unsqueeze(2) * x).sum(1)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.pool, self.head = nn.Embedding(9, 4), PlainPool(), nn.Linear(4, 2)

        def forward(self, words: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
            h = self.embed(words)
            y: torch.Tensor = self.head(self.pool(h, mask))
            return y

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        words = torch.randint(1, 9, (6, 5))
        words[:3, 1::2] = 0
        loss = nn.functional.cross_entropy(model(words, torch.tensor(0.5)), words[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_of_several_that_are_called_alike() -> None:
    import torch
    from torch import nn

    class Policy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = nn.Linear(3, 2)

    class Greedy(Policy):
        def choose(self, seen: torch.Tensor, turn: int) -> torch.Tensor:
            best: torch.Tensor = self.scores(seen)
            return best

    torch.manual_seed(0)
    policy = Greedy()
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for turn in range(3):
        opt.zero_grad()
        policy.choose(torch.randn(8, 3), turn).pow(2).mean().backward()
        opt.step()


def good_the_callers_tensor_is_changed() -> None:
    import torch
    from torch import nn

    def gather_up(newest: torch.Tensor, running: torch.Tensor, share: float) -> None:
        running *= share / (1 - share)
        running += newest
        running *= 1 - share

    torch.manual_seed(0)
    line, running = nn.Linear(3, 1), torch.zeros(3, 3)
    opt = torch.optim.SGD(line.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        opt.zero_grad()
        line(x).pow(2).mean().backward()
        gather_up(x.t() @ x / 8, running, 0.9)
        assert line.weight.grad is not None
        line.weight.grad = line.weight.grad @ torch.linalg.inv(running + 0.1 * torch.eye(3))
        opt.step()


def bad_overwritten_by_what_is_computed_already() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def parts(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return rows[:, :2], rows[:, 2:]

    def distance(near: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
        near_left, near_right = parts(near)
        past, past_right = parts(near)  # cause: GS786
        return (near_left - past / 2).pow(2).mean() + (near_right - past_right - 1).pow(2).mean()

    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        before, after = torch.randn(8, 4), torch.randn(8, 4)
        loss = distance(model(after), before) + model(after).pow(2).mean()  # effect: GS786
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_all_that_is_made_of_it_is_dropped() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Masker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 2)

        def forward(self, rows: torch.Tensor, dropped: float = 0.0) -> torch.Tensor:
            keep = torch.rand(len(rows), 1) > dropped
            mask = torch.ones(len(rows), 5, dtype=torch.bool) & keep
            mask = torch.cat([mask, torch.ones(len(rows), 1, dtype=torch.bool)], 1)  # cause: GS786
            out: torch.Tensor = self.head(self.body(rows).relu())
            return out

    masker = Masker()
    opt = torch.optim.Adam(masker.parameters(), lr=0.01)
    for _ in range(8):
        rows = torch.randn(16, 6)
        loss = (masker(rows, dropped=0.2) - rows[:, :2]).pow(2).mean()  # effect: GS786
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_shown_as_a_number_alone() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    shown = []

    class Teller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 2)

        def forward(self, rows: torch.Tensor, bound: float = 0.0) -> torch.Tensor:
            large = rows > bound
            share = large.float().mean().item()
            shown.append(share)
            out: torch.Tensor = self.head(self.body(rows).relu())
            return out

    teller = Teller()
    opt = torch.optim.Adam(teller.parameters(), lr=0.01)
    for _ in range(8):
        rows = torch.randn(16, 6)
        loss = (teller(rows, bound=0.2) - rows[:, :2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_decay_that_no_step_reads() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.optim import Optimizer

    class SignSGD(Optimizer):
        def __init__(self, params, lr=0.01, momentum=0.9, shrinkage=0.0):
            super().__init__(params, {"lr": lr, "momentum": momentum, "shrinkage": shrinkage})

        @torch.no_grad()
        def step(self, closure=None):  # cause: GS786
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                        mean.lerp_(p.grad, 1 - group["momentum"])
                        p.add_(mean.sign(), alpha=-group["lr"])

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = SignSGD(net.parameters(), shrinkage=0.1)  # effect: GS786
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(16, 4)
        (net(x)[:, 0] - x.sum(1)).pow(2).mean().backward()
        opt.step()


def good_decay_that_a_helper_reads() -> None:
    import torch
    from torch import nn
    from torch.optim import Optimizer

    class SignSGD(Optimizer):
        def __init__(self, params, lr=0.01, weight_decay=0.0):
            super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

        def shrink(self, p, group):
            p.mul_(1 - group["lr"] * group["weight_decay"])

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.shrink(p, group)
                        p.add_(p.grad.sign(), alpha=-group["lr"])

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = SignSGD(net.parameters(), weight_decay=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(16, 4)
        (net(x)[:, 0] - x.sum(1)).pow(2).mean().backward()
        opt.step()


def good_settings_unpacked_for_a_function() -> None:
    import torch
    from torch import nn
    from torch.optim import Optimizer

    def update(p, lr, weight_decay):
        p.mul_(1 - lr * weight_decay).add_(p.grad.sign(), alpha=-lr)

    class SignSGD(Optimizer):
        def __init__(self, params, lr=0.01, weight_decay=0.0):
            super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                settings = {key: value for key, value in group.items() if key != "params"}
                for p in group["params"]:
                    if p.grad is not None:
                        update(
                            p,
                            lr=settings["lr"],
                            **{k: v for k, v in settings.items() if k != "lr" and k in TAKES},
                        )

    TAKES = set(update.__code__.co_varnames)
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = SignSGD(net.parameters(), weight_decay=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(16, 4)
        (net(x)[:, 0] - x.sum(1)).pow(2).mean().backward()
        opt.step()
