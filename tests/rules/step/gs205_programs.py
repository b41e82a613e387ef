"""More programs of GS205: each bad one is reported at its marks, each good one by no rule."""


def bad_parentheses_forgotten() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()  # effect: GS205
        opt.step  # cause: GS205
        opt.zero_grad()


def bad_with_a_schedule() -> None:  # fix: by hand
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())  # cause: GS205
    opt_c = torch.optim.Adam(critic.parameters())
    schedules = [torch.optim.lr_scheduler.StepLR(opt, 10) for opt in (opt_c,)]
    schedules.append(torch.optim.lr_scheduler.StepLR(opt_g, 10))
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        critic(fake).mean().neg().backward()  # effect: GS205
        schedules[0].step()


def bad_in_a_trainer() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
            self.model, self.optimizer = model, optimizer

        def train(self, batches: list[torch.Tensor]) -> None:
            for batch in batches:
                self.optimizer.zero_grad()
                self.model(batch).pow(2).mean().backward()  # effect: GS205

    model = nn.Linear(3, 1).to("cpu")
    opt = torch.optim.Adam(model.parameters())  # cause: GS205
    Trainer(model, opt).train([torch.randn(8, 3) for _ in range(3)])


def bad_one_of_two() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())  # cause: GS205
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()  # effect: GS205
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()
        opt_g.step()


def bad_generator_never_steps() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())  # cause: GS205
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()  # effect: GS205


def bad_beside_vectors_written_by_hand() -> None:
    import torch
    from torch import nn

    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(1, 2))
            self.u = nn.Parameter(torch.randn(1), requires_grad=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.u.data = nn.functional.normalize(self.w.data.mv(torch.ones(2)), dim=0)
            scores: torch.Tensor = x @ (self.w / (self.u @ self.w).norm()).t()
            return scores

    generator, critic = nn.Linear(2, 2), Normed()
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())  # cause: GS205
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()  # effect: GS205
        opt_g.zero_grad()
        critic(fake).mean().neg().backward()
        opt_g.step()


def bad_other_optimizer_handed_over() -> None:  # fix: by hand
    import torch
    from torch import nn

    def train(opt_g: torch.optim.Optimizer, opt_c: torch.optim.Optimizer) -> None:
        for _ in range(4):
            generator.zero_grad()
            fake = generator(torch.randn(4, 2))
            critic(fake).mean().neg().backward()
            opt_g.step()
            critic.zero_grad()
            (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()  # effect: GS205
            opt_c.step()

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    critic(generator(torch.randn(4, 2)))
    generator, critic = generator.to("cpu"), critic.to("cpu")
    first = torch.optim.Adam(generator.parameters())
    second = torch.optim.Adam(critic.parameters())  # cause: GS205
    train(first, first)
    print(second)


def bad_step_of_a_trainer_not_called() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, model: nn.Module) -> None:
            self.model, self.optim = model, torch.optim.SGD(model.parameters(), lr=0.1)

        def run(self) -> None:
            for _ in range(3):
                self.optim.zero_grad()
                self.model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS205
                self.optim.step  # cause: GS205

    Trainer(nn.Linear(3, 1)).run()


def good_saliency() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    frozen = nn.Linear(3, 1)
    for _ in range(3):
        x = torch.randn(1, 3, requires_grad=True)
        frozen(x).sum().backward()
        assert x.grad is not None
        frozen.zero_grad()


def good_accumulation_not_full() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(4):
        (model(torch.randn(8, 3)).pow(2).mean() / 8).backward()
        if i % 8 == 7:
            opt.step()
            opt.zero_grad()


def good_second_stage() -> None:
    import torch
    from torch import nn

    trunk, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt_head = torch.optim.SGD(head.parameters(), lr=0.1)
    opt_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
    for epoch in range(4):
        opt_head.zero_grad()
        opt_trunk.zero_grad()
        head(trunk(torch.randn(8, 3))).pow(2).mean().backward()
        opt_head.step()
        if epoch > 10:
            opt_trunk.step()


def good_stepped_inside() -> None:
    import torch
    from torch import nn

    class Ascent(torch.optim.SGD):
        def climb(self) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.add_(p.grad, alpha=group["lr"])

    model = nn.Linear(3, 1)
    opt = Ascent(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.climb()


def bad_condition_that_is_never_met() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    every = 1
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(120):
        waiting = (i + 1) % every != 1  # cause: GS205
        loss = model(torch.randn(8, 3)).pow(2).mean() / every
        loss.backward()  # effect: GS205
        if not waiting:
            opt.step()
            opt.zero_grad()


def bad_condition_that_is_the_remainder_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    every = 1
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(120):
        loss = model(torch.randn(8, 3)).pow(2).mean() / every
        loss.backward()  # effect: GS205
        if i % every:  # cause: GS205
            opt.step()
            opt.zero_grad()


def good_condition_of_a_long_accumulation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(120):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 120
        loss.backward()
        if (i + 1) % 120 == 0:
            opt.step()
            opt.zero_grad()


def bad_counter_of_each_epoch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    every, batches = 4, torch.randn(3, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(5):
        last = torch.zeros(())
        for i, batch in enumerate(batches):
            last = model(batch).pow(2).mean() / every
            last.backward()  # effect: GS205
            if (i + 1) % every == 0:  # cause: GS205
                opt.step()
                opt.zero_grad()
        print(epoch, last.item())


def bad_counter_set_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    batches = torch.randn(3, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        count = 0
        for batch in batches[torch.randperm(3)]:
            count += 1
            (model(batch).pow(2).mean() / 4).backward()  # effect: GS205
            if count == 4:  # cause: GS205
                opt.step()
                opt.zero_grad()


def bad_counter_of_a_call() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Trainer:
        def __init__(self, every: int) -> None:
            self.every = every
            self.model = nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def epoch(self, loader: "DataLoader[tuple[torch.Tensor, ...]]") -> None:
            for i, (batch,) in enumerate(loader):
                (self.model(batch).pow(2).mean() / self.every).backward()  # effect: GS205
                if (i + 1) % self.every == 0:  # cause: GS205
                    self.opt.step()
                    self.opt.zero_grad()

    torch.manual_seed(0)
    trainer = Trainer(4)
    data = DataLoader(TensorDataset(torch.randn(24, 3)), batch_size=8)
    for _ in range(5):
        trainer.epoch(data)


def good_one_epoch_of_a_trial() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    every, batches = 4, torch.randn(3, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(1):
        last = torch.zeros(())
        for i, batch in enumerate(batches):
            last = model(batch).pow(2).mean() / every
            last.backward()
            if (i + 1) % every == 0:
                opt.step()
                opt.zero_grad()
        print(epoch, last.item())


def good_epochs_that_count_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    batches = torch.randn(3, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = 0
    for epoch in range(3):
        last = torch.zeros(())
        for i, batch in enumerate(batches):
            seen += 1
            last = model(batch).pow(2).mean() / 16
            last.backward()
            if i >= 0 and seen % 16 == 0:
                opt.step()
                opt.zero_grad()
        print(epoch, last.item())


def good_epoch_decides() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    batches = torch.randn(3, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        last = torch.zeros(())
        for i, batch in enumerate(batches):
            last = model(batch).pow(2).mean() / 16
            last.backward()
            if epoch % 5 == 4 and i == 2:
                opt.step()
                opt.zero_grad()
        print(epoch, last.item())


def good_memory_not_full() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    batches = torch.randn(3, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    memory = []
    for epoch in range(3):
        last = torch.zeros(())
        for i, batch in enumerate(batches):
            memory.append(batch)
            last = model(batch).pow(2).mean() / 16
            last.backward()
            if i == 2 and len(memory) > 16:
                opt.step()
                opt.zero_grad()
        print(epoch, last.item())


def bad_wrapped_and_never_stepped() -> None:
    import torch
    from torch import nn

    class Wrapper:
        """Hands everything on, and says that it is an optimizer."""

        def __init__(self, optimizer: torch.optim.Optimizer) -> None:
            self.inner = optimizer
            self.__class__ = type("Wrapped", (Wrapper, type(optimizer)), {})

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    model = nn.Linear(3, 1)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS205
    opt = Wrapper(inner)
    for _ in range(4):
        opt.zero_grad()  # type: ignore[attr-defined]
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS205


def bad_remainder_compared_with_its_divisor() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    every = 4
    for _ in range(3):
        for i in range(8):
            (net(torch.randn(8, 4)).square().mean() / every).backward()  # effect: GS205
            if i % every == every:  # cause: GS205
                opt.step()
                opt.zero_grad()


def bad_remainder_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    accumulate = 4
    for _ in range(2):
        for i in range(12):
            x = torch.randn(8, 4)
            loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()) / accumulate
            loss.backward()  # effect: GS205
            if i + 1 % accumulate == 0:  # cause: GS205
                opt.step()
                opt.zero_grad()
