"""More programs of GS405: each bad one is reported at its marks, each good one by no rule."""


def bad_frozen_part_of_a_model() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    model[:3].requires_grad_(False)
    opt = torch.optim.SGD(model[3].parameters(), lr=0.1)
    model.train()
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4) + 1).pow(2).mean()  # cause: GS405
        loss.backward()
        opt.step()


def bad_frozen_after_it_was_trained() -> None:
    import torch
    from torch import nn

    stem, head = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)), nn.Linear(8, 2)
    opt = torch.optim.SGD([*stem.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(stem(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()
    for p in stem.parameters():
        p.requires_grad_(False)
    head = nn.Linear(8, 2)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(stem(torch.randn(8, 4) + 1)).pow(2).mean().backward()  # cause: GS405
        opt.step()


def bad_frozen_after_a_long_training() -> None:
    import torch
    from torch import nn

    stem, head = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)), nn.Linear(8, 2)
    opt = torch.optim.SGD([*stem.parameters(), *head.parameters()], lr=0.1)
    for _ in range(20):
        opt.zero_grad()
        head(stem(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()
    for p in stem.parameters():
        p.requires_grad_(False)
    head = nn.Linear(8, 2)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(20):
        opt.zero_grad()
        head(stem(torch.randn(8, 4) + 1)).pow(2).mean().backward()  # cause: GS405
        opt.step()


def bad_frozen_norms_here_and_there() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.norm(self.linear(x)).relu()

    def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        model.train()
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 4) + 1).pow(2).mean().backward()  # cause: GS405
            optimizer.step()

    net = nn.Sequential(nn.BatchNorm1d(4), Block(), Block(), nn.Linear(4, 2))
    for part in net.modules():
        if isinstance(part, nn.BatchNorm1d):
            part.eval().requires_grad_(False)
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        train(net, opt)


def good_critic_frozen_in_turn() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        critic.requires_grad_(True)
        fake = generator(torch.randn(8, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(8, 4)).mean()).backward()
        opt_c.step()
        critic.requires_grad_(False)
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()


def good_momentum_encoder() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
    slow = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4) + 1
        with torch.no_grad():
            goal = slow(x)
        opt.zero_grad()
        (online(x + 0.1) - goal).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for s, f in zip(slow.parameters(), online.parameters(), strict=True):
                s.mul_(0.9).add_(f, alpha=0.1)


def bad_teacher_trained_by_itself_put_in_training_mode_with_the_student() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Distilled(nn.Module):
        def __init__(self, student: nn.Module, teacher: nn.Module) -> None:
            super().__init__()
            self.student, self.teacher = student, teacher.requires_grad_(False)

        def loss(self, x: torch.Tensor) -> torch.Tensor:
            goal = self.teacher(x)  # cause: GS405
            return nn.functional.mse_loss(self.student(x), goal)

    teacher = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(teacher(torch.randn(8, 4) + 1), torch.randint(0, 2, (8,))).backward()
        opt.step()
    teacher.eval()
    model = Distilled(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)), teacher)
    opt = torch.optim.SGD(model.student.parameters(), lr=0.1)
    model.train()
    for _ in range(6):
        opt.zero_grad()
        model.loss(torch.randn(8, 4) + 1).backward()
        opt.step()


def good_holder_keeps_its_teacher_in_evaluation_mode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Distilled(nn.Module):
        def __init__(self, student: nn.Module, teacher: nn.Module) -> None:
            super().__init__()
            self.student, self.teacher = student, teacher.requires_grad_(False)

        def loss(self, x: torch.Tensor) -> torch.Tensor:
            goal = self.teacher(x)
            return nn.functional.mse_loss(self.student(x), goal)

        def train(self, mode: bool = True) -> "Distilled":
            super().train(mode)
            self.teacher.eval()
            return self

    teacher = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(teacher(torch.randn(8, 4) + 1), torch.randint(0, 2, (8,))).backward()
        opt.step()
    teacher.eval()
    model = Distilled(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)), teacher)
    opt = torch.optim.SGD(model.student.parameters(), lr=0.1)
    model.train()
    for _ in range(6):
        opt.zero_grad()
        model.loss(torch.randn(8, 4) + 1).backward()
        opt.step()


def good_teacher_beside_the_module_that_is_put_in_training_mode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(teacher(torch.randn(8, 4) + 1), torch.randint(0, 2, (8,))).backward()
        opt.step()
    teacher.eval().requires_grad_(False)
    student = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).train()
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 4) + 1
        opt.zero_grad()
        nn.functional.mse_loss(student(x), teacher(x)).backward()
        opt.step()


def bad_frozen_attribute_of_a_trainer() -> None:
    import torch
    from torch import nn

    def pretrained() -> nn.Sequential:
        backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        with torch.no_grad():
            backbone(torch.randn(8, 4))  # its first call: that is what it is named after
        return backbone

    class FineTune:
        def __init__(self, backbone: nn.Module) -> None:
            self.backbone = backbone.requires_grad_(False)
            self.head = nn.Linear(8, 2)
            self.opt = torch.optim.SGD(self.head.parameters(), lr=0.1)

        def step(self, x: torch.Tensor) -> None:
            self.opt.zero_grad()
            features = self.backbone(x)  # cause: GS405
            self.head(features).pow(2).mean().backward()
            self.opt.step()

    training = FineTune(pretrained())
    for _ in range(3):
        training.step(torch.randn(8, 4) + 1)


def good_frozen_attribute_of_a_trainer_in_evaluation() -> None:
    import torch
    from torch import nn

    class FineTune:
        def __init__(self, backbone: nn.Module) -> None:
            self.backbone = backbone.requires_grad_(False).eval()
            self.head = nn.Linear(8, 2)
            self.opt = torch.optim.SGD(self.head.parameters(), lr=0.1)

        def step(self, x: torch.Tensor) -> None:
            self.opt.zero_grad()
            self.head(self.backbone(x)).pow(2).mean().backward()
            self.opt.step()

    training = FineTune(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()))
    for _ in range(3):
        training.step(torch.randn(8, 4) + 1)


def good_teacher_put_in_training_mode_by_itself() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    teacher = copy.deepcopy(student).requires_grad_(False)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        student.train()
        teacher.train()
        for _ in range(3):
            x = torch.randn(8, 4)
            with torch.no_grad():
                soft = teacher(x).softmax(1)
            opt.zero_grad()
            nn.functional.cross_entropy(student(x), soft).backward()
            opt.step()


def bad_teacher_evaluated_before() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    teacher = copy.deepcopy(student).requires_grad_(False)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    teacher.eval()
    with torch.no_grad():
        right = (teacher(torch.randn(8, 4)).argmax(1) == 0).sum().item()
    for _ in range(2):
        student.train()
        teacher.train()
        for _ in range(3):
            x = torch.randn(8, 4)
            with torch.no_grad():
                soft = teacher(x).softmax(1)  # cause: GS405
            opt.zero_grad()
            nn.functional.cross_entropy(student(x), soft).backward()
            opt.step()
    print(right)


def bad_loaded_from_an_earlier_training() -> None:
    import torch
    from torch import nn

    class Segmenter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
            self.decoder = nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.decoder(self.encoder(x))
            return out

    torch.manual_seed(0)
    early = Segmenter()
    opt = torch.optim.SGD(early.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (early(x) - x).pow(2).mean().backward()
        opt.step()
    state = {name: value.clone() for name, value in early.encoder.state_dict().items()}

    model = Segmenter()
    model.encoder.load_state_dict(state)
    for weight in model.encoder.parameters():
        weight.requires_grad = False
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        model.train()
        x = torch.randn(8, 4) + 1
        opt.zero_grad()
        (model(x) - x).abs().mean().backward()  # cause: GS405
        opt.step()
        model.eval()
        with torch.no_grad():
            model(x)
