"""More programs of GS308: each bad one is reported at its marks, each good one by no rule."""


def bad_detach_of_a_target() -> None:  # fix: by hand
    import torch
    from torch import nn

    value = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(value.parameters(), lr=0.1)
    for _ in range(3):
        target = torch.ones(4, 1) + 0.9 * value(torch.randn(4, 3))
        target.detach()  # cause: GS308
        opt.zero_grad()
        nn.functional.mse_loss(value(torch.randn(4, 3)), target).backward()
        opt.step()


def bad_detach_before_it_is_kept() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    outputs = []
    for _ in range(2):
        out = model(torch.ones(2, 3))
        out.detach()  # cause: GS308
        outputs.append(out)


def bad_never_called() -> None:
    import torch

    x = torch.ones(3)
    x.requires_grad_  # cause: GS308
    (x * 2).sum()


def bad_frozen_by_attribute() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad = False  # type: ignore[assignment]  # cause: GS308
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        opt.step()


def bad_frozen_in_a_loop() -> None:
    import torch
    from torch import nn

    model = nn.Sequential()
    for name, part in (("first", nn.Linear(3, 3)), ("second", nn.Linear(3, 3))):
        part.requires_grad = False  # type: ignore[assignment]  # cause: GS308
        model.add_module(name, part)
    model.add_module("head", nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        opt.step()


def bad_misspelled() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    for p in model[0].parameters():
        p.require_grad = False  # type: ignore[attr-defined]  # cause: GS308
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        opt.step()


def bad_state_detached_to_nobody() -> None:
    import torch
    from torch import nn

    cell, head = nn.GRUCell(2, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    h = torch.zeros(8, 4)
    for _ in range(3):
        h.detach()  # cause: GS308
        for _ in range(2):
            h = cell(torch.randn(8, 2), h)
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()


def bad_items_of_a_list() -> None:
    """The loop's name is bound to each item in turn: an assignment to it would change no item either."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(3):
        hidden = one(torch.randn(8, 4)).tanh()
        parts = [hidden + 1, hidden * 2]
        opt.zero_grad()
        (two(hidden) - 1).pow(2).mean().backward()
        opt.step()
        for part in parts:
            part.detach()  # cause: GS308
        print([part.norm().item() for part in parts])


def good_frozen() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        opt.step()


def good_frozen_by_its_parameters() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, requires_grad: bool = False) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.requires_grad = requires_grad

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown: torch.Tensor = self.fc(x)
            return shown

    frozen, net = nn.Linear(3, 3), Net()
    for p in frozen.parameters():
        p.requires_grad = False
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        net(frozen(torch.ones(2, 3))).sum().backward()
        opt.step()


def good_attribute_of_its_own() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, requires_grad: bool = False) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.requires_grad = requires_grad

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown: torch.Tensor = self.fc(x)
            return shown if self.requires_grad else shown.detach()

    net, head = Net(), nn.Linear(3, 1)
    net.fc.requires_grad_(False)
    head(net(torch.ones(2, 3))).sum().backward()


def good_step_kept_as_a_name() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    step, clear = opt.step, opt.zero_grad
    for _ in range(2):
        clear()
        (w * w).sum().backward()
        step()


def bad_frozen_copy_after_other_steps() -> None:
    import copy

    import torch
    from torch import nn

    student = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    for round in range(2):
        opt = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            student(torch.ones(2, 3)).sum().backward()
            opt.step()
        if round == 0:
            student = copy.deepcopy(student)
            student[0].requires_grad = False  # type: ignore[assignment]  # cause: GS308


def bad_misspelled_before_it_is_tuned() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
            self.top = nn.Linear(6, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.top(self.trunk(x))

    def train(tagger: Tagger, rate: float) -> None:
        optimizer = torch.optim.SGD(tagger.parameters(), lr=rate)
        for _ in range(6):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            nn.functional.cross_entropy(tagger(x), torch.randint(3, (8,))).backward()
            optimizer.step()

    def both() -> None:
        tagger = Tagger()
        train(tagger, 0.1)
        for p in tagger.trunk.parameters():
            p.require_grads = False  # cause: GS308
        train(tagger, 0.01)

    both()


def bad_mask_that_is_dropped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project = nn.Linear(4, 12)
    opt = torch.optim.SGD(project.parameters(), lr=0.1)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    for _ in range(3):
        query, key, value = project(torch.randn(2, 5, 4)).chunk(3, dim=-1)
        scores = query @ key.transpose(1, 2)
        scores.masked_fill(~mask, -1e9)  # cause: GS308
        opt.zero_grad()
        (scores.softmax(-1) @ value - 1).pow(2).mean().backward()
        opt.step()


def bad_weights_that_are_not_clipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (critic(torch.randn(8, 4)) - critic(torch.rand(8, 4))).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp(-0.01, 0.01)  # cause: GS308


def bad_function_whose_result_is_dropped() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(3):
        hidden = first(torch.randn(8, 4))
        F.relu(hidden)  # cause: GS308
        opt.zero_grad()
        (second(hidden) - 1).pow(2).mean().backward()
        opt.step()


def bad_axes_that_stay() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        out = model(torch.randn(2, 3, 4))
        out.transpose(1, 2)  # cause: GS308
        opt.zero_grad()
        (out - 1).pow(2).mean().backward()
        opt.step()


def good_written_in_place_or_out() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    scaled = torch.empty(8, 4)
    for _ in range(3):
        x = torch.rand(8, 4)
        torch.mul(x, 2, out=scaled)
        x.clamp_(0.1, 0.9)
        hidden = first(scaled) + first(x)
        F.relu(hidden, inplace=True)
        dropped = first(x)
        F.dropout(dropped, 0.1, True, True)
        opt.zero_grad()
        (second(hidden + dropped) - 1).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p in first.parameters():
                p.clamp_(-0.9, 0.9)


def good_tried_or_timed() -> None:
    import time

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    took = []
    for _ in range(3):
        x = torch.randn(8, 4)
        try:
            x.add(torch.ones(4))
        except RuntimeError:
            x = x[:, :4]
        out = model(x)
        for _ in range(2):
            begun = time.perf_counter()
            out.tanh()
            took.append(time.perf_counter() - begun)
        with torch.profiler.profile():
            out.exp()
        opt.zero_grad()
        (out.tanh() - 0.1).pow(2).mean().backward()
        opt.step()


def good_dropped_where_nothing_follows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        out = model(torch.randn(8, 4))
        loss = (out - 1).pow(2).mean()
        out.abs()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_result_that_is_returned() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(4, 4)

        def masked_fill(self, scores: torch.Tensor) -> torch.Tensor:
            self.last = scores.masked_fill(scores < 0, 0.0)
            return self.last

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = self.project(x)
            self.masked_fill(scores)
            return scores + self.last

    model = Masked()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()


def bad_layer_whose_result_is_dropped() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.act, self.last = nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x)
            self.act(x)  # cause: GS308
            return self.last(x)

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 3, (16,))).backward()
        opt.step()


def good_layer_in_place_and_layer_that_is_watched() -> None:
    """One writes to what it is given; the other's result is what its hook keeps."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 3)
            self.act, self.shown = nn.ReLU(inplace=True), nn.Sigmoid()
            self.kept: list[torch.Tensor] = []
            self.shown.register_forward_hook(lambda module, args, out: self.kept.append(out))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x)
            self.act(x)
            self.shown(x)
            return self.last(x) + self.kept.pop().mean()

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 3, (16,))).backward()
        opt.step()


def bad_gradients_that_are_not_clipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ranks = nn.Linear(4, 2)
    opt = torch.optim.SGD(ranks.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        ranks(torch.randn(8, 4)).mul(5).pow(2).mean().backward()
        for weight in ranks.parameters():
            assert weight.grad is not None
            weight.grad.data.clamp(-1, 1)  # cause: GS308
        opt.step()


def good_gradients_clipped_or_looked_at() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ranks = nn.Linear(4, 2)
    opt = torch.optim.SGD(ranks.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        ranks(torch.randn(8, 4)).mul(5).pow(2).mean().backward()
        for weight in ranks.parameters():
            assert weight.grad is not None
            weight.grad.data.clamp_(-1, 1)
            assert weight.grad.clamp(-0.5, 0.5).norm() > 0
        opt.step()


def bad_normalised_to_nobody() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    view = nn.Linear(4, 6)
    bank = torch.randn(6, 32)
    F.normalize(bank, dim=0)  # cause: GS308
    opt = torch.optim.SGD(view.parameters(), lr=0.1)
    for _ in range(5):
        scores = F.normalize(view(torch.randn(8, 4)), dim=1) @ bank
        opt.zero_grad()
        F.cross_entropy(scores, torch.randint(32, (8,))).backward()
        opt.step()


def bad_vectors_go_into_another_layer() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self, vectors):
            super().__init__()
            self.words = nn.Embedding(20, 8)
            self.words.from_pretrained(vectors)  # cause: GS308
            self.out = nn.Linear(8, 2)

        def forward(self, words):
            return self.out(self.words(words))

    torch.manual_seed(0)
    model = Tagger(torch.randn(20, 8))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        words = torch.randint(0, 20, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(words), words % 2).backward()
        opt.step()


def good_vectors_are_loaded_after_all() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self, vectors):
            super().__init__()
            self.words = nn.Embedding(20, 8)
            self.words.from_pretrained(vectors)
            self.words.weight.data.copy_(vectors)
            self.out = nn.Linear(8, 2)

        def forward(self, words):
            return self.out(self.words(words))

    torch.manual_seed(0)
    model = Tagger(torch.randn(20, 8))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        words = torch.randint(0, 20, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(words), words % 2).backward()
        opt.step()


def bad_chosen_to_nobody() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, value = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam([*score.parameters(), *value.parameters()], lr=0.01)
    for _ in range(4):
        tills, closed = torch.randn(8, 6, 4), torch.rand(8, 6) < 0.3
        logit = score(tills).squeeze(-1)
        torch.where(closed, torch.full_like(logit, -1e4), logit)  # cause: GS308
        wait = (logit.softmax(-1) * value(tills).squeeze(-1)).sum(-1)
        loss = (wait - tills[..., 0].mean(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_turned_to_nobody() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table = nn.Linear(6, 6)
    opt = torch.optim.SGD(table.parameters(), lr=0.05)
    for _ in range(4):
        rows = table(torch.randn(8, 6, 6))
        rows.permute(0, 2, 1)  # cause: GS308
        loss = (rows.softmax(-1) - torch.eye(6)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_dropped_and_the_like() -> None:
    import torch
    from torch import nn

    def warmed(net: nn.Module, rows: torch.Tensor) -> torch.Tensor:
        net(rows)
        torch.maximum(rows, rows.roll(1))  # what is given on is computed below
        out: torch.Tensor = net(torch.maximum(rows, rows.roll(1)))
        out.contiguous()
        return out

    torch.manual_seed(0)
    net = nn.Linear(6, 6)
    running = torch.zeros(6)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(4):
        rows = torch.randn(8, 6)
        loss = warmed(net, rows).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            torch.lerp(running, rows.mean(0), 0.1, out=running)


def bad_compared_in_place_of_assigned() -> None:
    import torch
    from torch import nn

    body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    model = nn.Sequential(body, nn.Linear(8, 2))
    for p in body.parameters():
        p.requires_grad == False  # cause: GS308  # noqa: E712
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        opt.step()


def good_compared_to_choose() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    frozen = [p for p in model.parameters() if p.requires_grad == False]  # noqa: E712
    assert not frozen
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        opt.step()


def bad_misspelled_in_a_later_part() -> None:
    import torch
    from torch import nn

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.decoder = nn.Linear(2, 6), nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.decoder(torch.tanh(self.embed(x)))

    class Tracker:
        def __init__(self) -> None:
            self.field, self.pose = Field(), nn.Parameter(torch.zeros(2))
            self.optimizer = torch.optim.Adam([*self.field.parameters(), self.pose], lr=0.01)

        def freeze(self) -> None:
            for p in self.field.embed.parameters():
                p.required_grad = False  # type: ignore[attr-defined]  # cause: GS308
            for p in self.field.decoder.parameters():
                p.required_grad = False  # type: ignore[attr-defined]

        def step(self) -> None:
            x = torch.randn(16, 2)
            loss = (self.field(x + self.pose) - x[:, :1]).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

        def fit(self, steps: int) -> None:
            for _ in range(steps):
                self.step()

    def both() -> None:
        tracker = Tracker()
        tracker.fit(6)
        tracker.freeze()
        tracker.fit(6)

    torch.manual_seed(0)
    both()


def good_frozen_in_a_later_part() -> None:
    import torch
    from torch import nn

    def both() -> None:
        torch.manual_seed(0)
        field, pose = nn.Linear(2, 1), nn.Parameter(torch.zeros(2))
        opt = torch.optim.Adam([*field.parameters(), pose], lr=0.01)
        for turn in range(12):
            if turn == 6:
                for p in field.parameters():
                    p.requires_grad = False
            x = torch.randn(16, 2)
            loss = (field(x + pose) - x[:, :1]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()

    both()


def bad_sum_to_nobody() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Placed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("places", torch.randn(1, 6, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x + self.places[:, : x.size(1)]  # cause: GS308
            return x.relu()

    body, placed, last = nn.Linear(3, 4), Placed(), nn.Linear(4, 1)
    opt = torch.optim.SGD([*body.parameters(), *last.parameters()], lr=0.05)
    for _ in range(4):
        rows = torch.randn(8, 6, 3)
        loss = (last(placed(body(rows))) - rows[..., :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_scaled_to_nobody_beside_a_sum_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, inner, last = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*body.parameters(), *inner.parameters(), *last.parameters()], lr=0.05)
    for _ in range(4):
        rows = torch.randn(8, 3)
        hidden = body(rows)
        hidden * 0.5  # cause: GS308
        loss = (last(hidden + inner(hidden)) - rows[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_operations_that_are_tried_or_made_again() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, last = nn.Linear(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*body.parameters(), *last.parameters()], lr=0.05)
    shift = torch.randn(1, 4)
    for _ in range(4):
        rows = torch.randn(8, 3)
        hidden = body(rows)
        try:
            hidden + shift.expand(8, 4)  # do they fit?
        except RuntimeError:
            shift = torch.zeros(1, 4)
        hidden + shift  # once, to warm up
        loss = (last(hidden + shift) - rows[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_answers_scaled_back_to_nobody() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True) + 0.2
    mean = y.mean()

    def answers(x: torch.Tensor) -> torch.Tensor:
        out = model(x).cpu()
        (out * 1.0 + mean).cpu()  # cause: GS308
        return out

    for _ in range(20):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y - mean).backward()
        opt.step()
    with torch.no_grad():
        print((answers(x) - y).abs().mean())


def good_operations_that_are_timed_or_warm_up() -> None:
    import time

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 4)
    spread = torch.tensor(0.5)
    for _ in range(20):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        opt.step()
    with torch.no_grad():
        out = model(x)
        began = time.perf_counter()
        for _ in range(5):
            (out * spread + 1).cpu()
        took = time.perf_counter() - began
        scaled = (out * spread + 1).cpu()
        print(took > 0, (scaled - x[:, :1]).abs().mean(), out.mean())
