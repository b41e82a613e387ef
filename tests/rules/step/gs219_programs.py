"""More programs of GS219: each bad one is reported at its marks, each good one by no rule."""


def bad_encoder_given_to_both() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Critic(nn.Module):
        def __init__(self, encoder: nn.Module) -> None:
            super().__init__()
            self.encoder, self.head = encoder, nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(torch.relu(self.encoder(x)))  # type: ignore[no-any-return]

    def critic(encoder: nn.Module) -> Critic:
        return Critic(encoder)  # cause: GS219

    encoder = nn.Linear(3, 4)
    online, target = critic(encoder), critic(encoder)
    opt = torch.optim.Adam(online.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = 1 + 0.9 * target(x)
        opt.zero_grad()
        nn.functional.mse_loss(online(x), wanted).backward()
        opt.step()
        for p, q in zip(online.parameters(), target.parameters(), strict=True):
            q.data.copy_(0.05 * p.data + 0.95 * q.data)  # effect: GS219


def bad_tied_after_the_copy() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    class Value(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(torch.relu(self.body(x)))  # type: ignore[no-any-return]

    online = Value()
    target = copy.deepcopy(online)
    target.body = online.body  # cause: GS219
    opt = torch.optim.Adam(online.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = 1 + 0.9 * target(x)
        opt.zero_grad()
        nn.functional.mse_loss(online(x), wanted).backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(online.parameters(), target.parameters(), strict=True):
                q.lerp_(p, 0.05)  # effect: GS219


def good_shared_part_that_nothing_trains() -> None:
    import torch
    from torch import nn

    body = nn.Linear(3, 4).requires_grad_(False)
    net = nn.Sequential(body, nn.ReLU(), nn.Linear(4, 1))
    target = nn.Sequential(body, nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net[2].parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = 1 + 0.9 * target(x)
        opt.zero_grad()
        (net(x) - wanted).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(net.parameters(), target.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)


def good_shared_part_left_out() -> None:
    import torch
    from torch import nn

    body = nn.Linear(3, 4)
    net, head = nn.Sequential(body, nn.ReLU(), nn.Linear(4, 1)), nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = 1 + 0.9 * head(torch.relu(body(x)))
        opt.zero_grad()
        (net(x) - wanted).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(net[2].parameters(), head.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)


def good_decay_by_hand() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p in net.parameters():
                p.add_(p, alpha=-0.01)


def bad_a_second_name() -> None:
    import torch
    from torch import nn

    class Agent:
        def __init__(self) -> None:
            self.local = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
            self.fixed = self.local  # cause: GS219
            self.opt = torch.optim.Adam(self.local.parameters(), lr=0.01)

        def learn(self, x: torch.Tensor) -> None:
            with torch.no_grad():
                wanted = 1 + 0.9 * self.fixed(x)
            self.opt.zero_grad()
            nn.functional.mse_loss(self.local(x), wanted).backward()
            self.opt.step()
            self.update(self.local, self.fixed, 0.05)

        def update(self, source: nn.Module, other: nn.Module, tau: float) -> None:
            for q, p in zip(other.parameters(), source.parameters(), strict=True):
                q.data.copy_(tau * p.data + (1.0 - tau) * q.data)  # effect: GS219

    agent = Agent()
    for _ in range(4):
        agent.learn(torch.randn(8, 3))


def good_decayed_by_hand() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(0.99 * p)


def bad_shallow_copy() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    judge = nn.Linear(3, 1)
    slow = copy.copy(judge)  # cause: GS219
    opt = torch.optim.Adam(judge.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(8, 3)
        with torch.no_grad():
            goal = x[:, :1] + 0.9 * slow(x)
        opt.zero_grad()
        nn.functional.mse_loss(judge(x), goal).backward()
        opt.step()
        with torch.no_grad():
            for old, new in zip(slow.parameters(), judge.parameters(), strict=True):
                old.copy_(old * 0.9 + new * 0.1)  # effect: GS219


def bad_one_body_under_two_names() -> None:
    import torch
    from torch import nn

    class Pair(nn.Module):
        def __init__(self, body: nn.Module) -> None:
            super().__init__()
            student_body = body
            teacher_body = body  # cause: GS219
            self.student = nn.Sequential(student_body, nn.Linear(8, 3))
            self.teacher = nn.Sequential(teacher_body, nn.Linear(8, 3))

    torch.manual_seed(0)
    pair = Pair(nn.Sequential(nn.Linear(4, 8), nn.Tanh()))
    opt = torch.optim.SGD(pair.student.parameters(), lr=0.1)
    for _ in range(4):
        seen = torch.randn(16, 4)
        with torch.no_grad():
            wanted = pair.teacher(seen).softmax(1)
        loss = nn.functional.cross_entropy(pair.student(seen), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for mine, its in zip(pair.teacher.parameters(), pair.student.parameters(), strict=True):
                mine.mul_(0.9).add_(its, alpha=0.1)  # effect: GS219


def bad_teacher_that_freezes_the_student() -> None:
    import torch
    from torch import nn

    class Average:
        def __init__(self, model: nn.Module) -> None:
            self.model = model  # cause: GS219
            self.model.requires_grad_(False)  # related: GS219

        def step(self, new: nn.Module) -> None:
            state = {}
            own = self.model.state_dict()
            for key, value in new.state_dict().items():
                average = own[key].float()
                average.mul_(0.9)
                average.add_(value.to(average.dtype), alpha=0.1)  # effect: GS219
                state[key] = average
            self.model.load_state_dict(state, strict=False)

    class Student(nn.Module):
        def __init__(self, encoder: nn.Module) -> None:
            super().__init__()
            self.encoder, self.head = encoder, nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8))
            self.teacher = Average(self.encoder)

        def forward(self, x: torch.Tensor, whole: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            with torch.no_grad():
                wanted = self.teacher.model(whole)
            return self.head(self.encoder(x)), wanted

    torch.manual_seed(0)
    student = Student(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8)))
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(16, 6)
        answer, wanted = student(x * 0.5, x)
        opt.zero_grad()
        nn.functional.smooth_l1_loss(answer, wanted).backward()
        opt.step()
        student.teacher.step(student.encoder)


def bad_states_of_one_network() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    slow = net  # cause: GS219
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = x[:, :1] + 0.9 * slow(x)
        opt.zero_grad()
        nn.functional.mse_loss(net(x), wanted).backward()
        opt.step()
        kept = slow.state_dict()
        for name, value in net.state_dict().items():
            kept[name].lerp_(value, 0.1)  # effect: GS219


def good_frozen_part_of_both_in_the_optimizer() -> None:
    import torch
    from torch import nn

    body = nn.Linear(3, 4).requires_grad_(False)
    net = nn.Sequential(body, nn.ReLU(), nn.Linear(4, 1))
    target = nn.Sequential(body, nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad] + [*body.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = 1 + 0.9 * target(x)
        opt.zero_grad()
        (net(x) - wanted).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(net.parameters(), target.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)


def good_frozen_teacher_of_its_own() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8)), nn.Linear(8, 8)
    teacher = copy.deepcopy(encoder).requires_grad_(False)
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(8):
        x = torch.randn(16, 6)
        with torch.no_grad():
            wanted = teacher(x)
        opt.zero_grad()
        nn.functional.smooth_l1_loss(head(encoder(x * 0.5)), wanted).backward()
        opt.step()
        own = teacher.state_dict()
        for key, value in encoder.state_dict().items():
            own[key].mul_(0.9).add_(value, alpha=0.1)


def good_states_decayed_by_hand() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        for value in net.state_dict().values():
            value.add_(value, alpha=-0.01)


def bad_averaged_with_itself_by_assignment() -> None:
    import torch
    from torch import nn

    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
            self.target = self.online  # cause: GS219
            self.head = nn.Linear(2, 2)

        @torch.no_grad()
        def follow(self) -> None:
            for p, q in zip(self.online.parameters(), self.target.parameters(), strict=True):
                q.data = 0.9 * q.data + (1 - 0.9) * p.data  # effect: GS219

    torch.manual_seed(0)
    twins = Twins()
    opt = torch.optim.Adam(twins.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = twins.target(x + 0.1 * torch.randn(8, 3))
        opt.zero_grad()
        nn.functional.mse_loss(twins.head(twins.online(x)), wanted).backward()
        opt.step()
        twins.follow()


def good_average_by_assignment() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    target = copy.deepcopy(online)
    head = nn.Linear(2, 2)
    opt = torch.optim.Adam([*online.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 3)
        with torch.no_grad():
            wanted = target(x + 0.1 * torch.randn(8, 3))
        opt.zero_grad()
        nn.functional.mse_loss(head(online(x)), wanted).backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(online.parameters(), target.parameters(), strict=True):
                q.data = 0.9 * q.data + (1 - 0.9) * p.data


def good_stepped_by_assignment_with_gradients_of_a_name() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    held = net
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        for p, q in zip(net.parameters(), held.parameters(), strict=True):
            p.data = p.data - 0.01 * q.grad
