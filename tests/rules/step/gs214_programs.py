"""More programs of GS214: each bad one is reported at its marks, each good one by no rule."""


def bad_tensor() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.scale = torch.ones(3, requires_grad=True)  # cause: GS214

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.fc(x) * self.scale
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def bad_initialised_after_another_model_has_trained() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = {"one": nn.Linear(3, 3), "two": nn.Linear(3, 3)}  # cause: GS214
            for layer in self.parts.values():
                nn.init.orthogonal_(layer.weight)
                with torch.no_grad():
                    layer.weight.mul_(0.5)
                layer.bias.data = torch.zeros(3)
            self.head = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.parts.values():
                x = torch.relu(layer(x))
            y: torch.Tensor = self.head(x)
            return y

    torch.manual_seed(0)
    first = nn.Linear(3, 1)
    opt = torch.optim.SGD(first.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        first(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def bad_made_in_forward() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = nn.Linear(3, 1)(self.fc(x))  # cause: GS214
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def good_handed_over() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.extra = [nn.Linear(3, 1)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.extra[0](self.fc(x))
            return y

    model = Net()
    opt = torch.optim.SGD([*model.parameters(), *model.extra[0].parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_updated_by_hand() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.empty(3, requires_grad=True)
            nn.init.normal_(self.scale)
            self.fc = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.fc(x * self.scale)
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            model.scale -= 0.1 * model.scale.grad  # type: ignore[operator]
        model.scale.grad = None


def good_hidden_teacher() -> None:
    import torch
    from torch import nn

    class Student(nn.Module):
        def __init__(self, teacher: nn.Module) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.teacher = [teacher]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                goal = self.teacher[0](x)
            y: torch.Tensor = (self.fc(x) - goal).pow(2).mean()
            return y

    model = Student(nn.Linear(3, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).backward()
        opt.step()


def good_loaded_judge() -> None:
    import torch
    from torch import nn

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            judge = nn.Linear(3, 1)
            judge.load_state_dict(nn.Linear(3, 1).state_dict())
            self.judge = [judge.eval()]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.judge[0](x).pow(2).mean()
            return y

    model, loss = nn.Linear(3, 3), Loss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss(model(torch.randn(8, 3))).backward()
        opt.step()


def good_points() -> None:
    import torch
    from torch import nn

    class Physics(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(1, 1)
            self.points = torch.linspace(0, 1, 8)[:, None].requires_grad_()

        def forward(self) -> torch.Tensor:
            u = self.fc(self.points)
            (slope,) = torch.autograd.grad(u.sum(), self.points, create_graph=True)
            y: torch.Tensor = (slope - u).pow(2).mean()
            return y

    model = Physics()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model().backward()
        opt.step()


def good_image() -> None:
    import torch
    from torch import nn

    class Painter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.judge = nn.Linear(3, 1)
            self.image = torch.zeros(3, requires_grad=True)

        def forward(self) -> torch.Tensor:
            y: torch.Tensor = self.judge(self.image).pow(2).mean()
            return y

    painter = Painter()
    for _ in range(3):
        painter().backward()
        with torch.no_grad():
            painter.image -= 0.1 * painter.image.grad  # type: ignore[operator]
        painter.image.grad = None
        painter.zero_grad()


def bad_dict_by_number() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(this) -> None:  # type: ignore[no-untyped-def]
            super().__init__()
            this.branches = {k: nn.Conv1d(2, 4, k, padding=k // 2) for k in (3, 5)}  # cause: GS214
            this.head = nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found = [branch(x).relu().mean(2) for branch in self.branches.values()]
            y: torch.Tensor = self.head(torch.cat(found, 1))
            return y

    net = Net()
    opt = torch.optim.AdamW(net.parameters())
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(4, 2, 9)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def bad_dict_of_parameters() -> None:
    import torch
    from torch import nn

    class Mixer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gains = {name: nn.Parameter(torch.ones(3)) for name in ("low", "high")}  # cause: GS214
            self.head = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(x * self.gains["low"] + x.abs() * self.gains["high"])
            return y

    mixer = Mixer()
    opt = torch.optim.SGD(mixer.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        mixer(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def bad_put_in_its_own_place() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Header(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.fc.weight = nn.Parameter(F.normalize(self.fc.weight, dim=1))  # cause: GS214
            cosine: torch.Tensor = self.fc(F.normalize(x, dim=1))
            return 8 * cosine

    torch.manual_seed(0)
    body, header = nn.Linear(5, 4), Header()
    opt = torch.optim.SGD([*body.parameters(), *header.parameters()], lr=0.1)
    for _ in range(4):
        loss = F.cross_entropy(header(body(torch.randn(6, 5))), torch.randint(0, 3, (6,)))
        opt.zero_grad()
        loss.backward()  # effect: GS214
        opt.step()


def bad_masked_in_its_own_place() -> None:
    import torch
    from torch import nn

    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv1d(2, 3, 3)
            self.kept = torch.rand(3, 2, 3).round()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.conv.weight = nn.Parameter(self.conv.weight.data * self.kept)  # cause: GS214
            y: torch.Tensor = self.conv(x)
            return y

    torch.manual_seed(0)
    model, head = Sparse(), nn.Linear(3, 1)
    opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        loss = (head(model(torch.randn(6, 2, 8)).mean(2)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS214
        opt.step()


def bad_list_of_lists() -> None:
    import torch
    from torch import nn

    class Grid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = [[nn.Linear(3, 3), nn.Tanh()] for _ in range(2)]  # cause: GS214
            self.last = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for row in self.rows:
                for layer in row:
                    x = layer(x)
            return self.last(x)  # type: ignore[no-any-return]

    grid = Grid()
    opt = torch.optim.SGD(grid.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        grid(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def bad_lists_appended() -> None:
    import torch
    from torch import nn

    class Tower(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.floors = []  # cause: GS214
            for _ in range(2):
                self.floors.append([nn.Linear(3, 3), nn.Tanh()])
            self.roof = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for floor in self.floors:
                for layer in floor:
                    x = layer(x)
            return self.roof(x)  # type: ignore[no-any-return]

    tower = Tower()
    opt = torch.optim.SGD(tower.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        tower(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def bad_a_list_of_layers_made_in_a_method() -> None:
    import torch
    from torch import nn

    class Painter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 4)

        def paint(self, canvas: torch.Tensor) -> torch.Tensor:
            strokes = [
                nn.Linear(4, 4),  # cause: GS214
                nn.ReLU(),
                nn.Linear(4, 1),
            ]
            for stroke in strokes:
                canvas = stroke(canvas)
            return canvas

        def forward(self, canvas: torch.Tensor) -> torch.Tensor:
            return self.paint(self.first(canvas))

    painter = Painter()
    sgd = torch.optim.SGD(painter.parameters(), lr=0.1)
    for _ in range(3):
        sgd.zero_grad()
        painter(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        sgd.step()


def bad_made_by_the_size_of_what_is_given() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 4)

        def forward(self, page: torch.Tensor) -> torch.Tensor:
            page = self.first(page)
            last = nn.Linear(page.shape[1], 1)  # cause: GS214
            read: torch.Tensor = last(page)
            return read

    reader = Reader()
    sgd = torch.optim.SGD(reader.parameters(), lr=0.1)
    for _ in range(3):
        sgd.zero_grad()
        reader(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        sgd.step()


def bad_parameters_made_in_a_method() -> None:
    import torch
    from torch import nn

    class Stretch(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.width = width
            self.lead = nn.Linear(width, width)

        def forward(self, row: torch.Tensor) -> torch.Tensor:
            n, half = self.width, self.width // 2
            self.gain = nn.Parameter(torch.randn(n))  # cause: GS214
            lift = nn.Parameter(torch.zeros(half + half))
            return self.lead(row) * self.gain + lift

    torch.manual_seed(0)
    stretch = Stretch(4)
    opt = torch.optim.SGD(stretch.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        stretch(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def bad_norm_made_in_forward_and_evaluated() -> None:  # fix: by hand
    """`eval()` is called and can reach nothing: GS401's words would be of no use."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

        def norm(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = nn.BatchNorm1d(x.size(1))(x)  # cause: GS214
            return out

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.last(self.norm(self.first(x)))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(3):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
            loss.backward()  # effect: GS214
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


def bad_norms_of_two_sizes_made_anew() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

        def norm(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = nn.BatchNorm1d(x.shape[1])(x)  # cause: GS214
            return out

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(self.second(self.norm(self.first(x))))

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        opt.zero_grad()
        nn.functional.mse_loss(net(x), x[:, :2]).backward()  # effect: GS214
        opt.step()


def bad_layer_in_a_function_that_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Linear(5, 8)
            scale = nn.Linear(8, 8)
            self.post = lambda h: torch.tanh(scale(h))  # cause: GS214
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            return self.out(self.post(torch.relu(self.trunk(x))))

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        x = torch.randn(32, 5)
        loss = (model(x) - x.prod(1, keepdim=True)).square().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS214
        opt.step()


def bad_tensor_given_beforehand() -> None:  # fix: by hand
    from functools import partial

    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Linear(5, 8)
            self.mix = partial(torch.matmul, other=torch.eye(8).requires_grad_())  # cause: GS214

        def forward(self, x):
            return self.mix(torch.relu(self.trunk(x)))

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        x = torch.randn(32, 5)
        loss = (model(x).sum(1) - x.prod(1)).square().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS214
        opt.step()


def good_functions_that_use_what_is_owned() -> None:
    from functools import partial

    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self, judge: nn.Module) -> None:
            super().__init__()
            self.trunk = nn.Linear(5, 8)
            self.scale = scale = nn.Linear(8, 8)
            self.post = lambda h: torch.tanh(scale(h))
            self.out = nn.Linear(8, 1)
            self.first = partial(torch.nn.functional.softplus, beta=2.0)
            self.judged = lambda y: judge(y)

        def forward(self, x):
            return self.out(self.post(self.first(self.trunk(x))))

    judge = nn.Linear(1, 1)
    model = Net(judge)
    opt, opt_judge = torch.optim.Adam(model.parameters(), 1e-2), torch.optim.Adam(judge.parameters(), 1e-2)
    for _ in range(4):
        x = torch.randn(32, 5)
        y = model(x)
        opt_judge.zero_grad()
        (judge(y.detach()) - x[:, :1]).square().mean().backward()
        opt_judge.step()
        opt.zero_grad()
        ((y - x.prod(1, keepdim=True)).square().mean() + 0.1 * model.judged(y).square().mean()).backward()
        opt.step()
